/** A message template as the platform defines it, kept with us so that a send can be built and checked. */
export interface Template {
  id: string
  platformId: string
  name: string
  language: string
  category: string
  status: string
  parameterFormat: string
  components: Component[]
  quality: string
  rejectedReason: string
  version: number
  createdAt: Date
  updatedAt: Date
  /** of the BUTTONS component, in their positions */
  buttons: Button[]
}

export interface Component {
  type: string
  format?: string
  text?: string
  buttons?: Button[]
  cards?: { components: Component[] }[]
  limited_time_offer?: { text?: string; has_expiration?: boolean }
  [more: string]: unknown
}

export interface Button {
  type: string
  text?: string
  url?: string
  [more: string]: unknown
}

export const componentOf = (components: readonly Component[], type: string) =>
  components.find(component => component.type === type)

const mediaFormats = ['IMAGE', 'VIDEO', 'DOCUMENT', 'GIF']
export const mediaFormatOf = (components: readonly Component[]): string | undefined => {
  const format = componentOf(components, 'HEADER')?.format
  return format !== undefined && mediaFormats.includes(format) ? format : undefined
}

export const isCarousel = (template: Template) => componentOf(template.components, 'CAROUSEL') !== undefined
export const isLimitedTimeOffer = (template: Template) =>
  componentOf(template.components, 'LIMITED_TIME_OFFER') !== undefined
export const isAuthentication = (template: Template) => template.category === 'AUTHENTICATION'
export const hasButtons = (template: Template) => template.buttons.length > 0
export const isMedia = (template: Template) => mediaFormatOf(template.components) !== undefined
export const isPlain = (template: Template) => !hasButtons(template) && !isMedia(template)
export const isMarketing = (template: Template) => template.category === 'MARKETING'

/** Placeholders of a text, each once, in order: numbers in a positional template, names in a named one. */
export const placeholders = (text = ''): string[] => [
  ...new Set([...text.matchAll(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g)].map(match => match[1]!)),
]

export const fillPlaceholders = (text: string, values: ReadonlyMap<string, string>) =>
  text.replaceAll(/\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g, (whole, name) => values.get(name) ?? whole)
