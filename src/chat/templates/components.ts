import { type FieldError, invalidField, type Problem, unprocessable } from '../../platform/problem.ts'
import { type Button, type Component, componentOf, fillPlaceholders, placeholders, type Template } from './template.ts'

/** The parts of a template send: what the definition asks for, filled with what the caller gave. */

export interface SendComponent {
  type: string
  [more: string]: unknown
}
type Value = string | number

const bodyLimit = 1024
const offerBodyLimit = 600
const cardBodyLimit = 160
const headerLimit = 60

export function templateContent(template: Template, parts: readonly (SendComponent | undefined)[]) {
  const components = parts.filter(part => part !== undefined)
  return {
    type: 'template',
    template: {
      name: template.name,
      language: { code: template.language },
      ...(components.length > 0 && { components }),
    },
  }
}

const parameterProblem = (code: string, field: string, message: string): Problem =>
  unprocessable(code, `${field} ${message}.`, [{ field, message }] satisfies FieldError[])
const missing = (field: string, message: string) => parameterProblem('template_parameter_missing', field, message)
const wrong = (field: string, message: string) => parameterProblem('template_parameters_wrong', field, message)

/** The platform refuses these values; they are refused here by name instead of being cut or stripped. */
function checkValue(field: string, value: Value): string {
  const text = String(value)
  if (text.trim() === '') throw invalidField(field, 'must not be blank')
  if (/[\n\r\t]/.test(text)) throw invalidField(field, 'must not contain line breaks or tabs')
  if (/ {5}/.test(text)) throw invalidField(field, 'must not contain more than 4 spaces in a row')
  return text
}

/** `name` only where the template names its parameters. */
export const textParameter = (text: string, name: string | undefined) => ({
  type: 'text',
  ...(name !== undefined && { parameter_name: name }),
  text,
})

interface Filling {
  text: string
  values: readonly Value[] | undefined
  field: string
  limit: number
  named: boolean
}

/** One parameter for each placeholder, and a rendered text that stays within its limit. */
function fill({ text, values = [], field, limit, named }: Filling) {
  const names = placeholders(text)
  if (!named) names.sort((a, b) => Number(a) - Number(b))
  if (values.length < names.length)
    throw missing(
      `${field}[${values.length}]`,
      `is missing${named ? `, the value of ${names[values.length]}` : ''}: the template takes ${count(names.length, 'value')}`,
    )
  if (values.length > names.length)
    throw wrong(field, `has ${count(values.length, 'value')}, the template takes ${names.length}`)
  const texts = values.map((value, index) => checkValue(`${field}[${index}]`, value))
  const rendered = fillPlaceholders(text, new Map(names.map((name, index) => [name, texts[index]!])))
  if ([...rendered].length > limit) throw wrong(field, `makes the text longer than ${limit} characters`)
  return names.map((name, index) => textParameter(texts[index]!, named ? name : undefined))
}

const count = (number: number, unit: string) => `${number} ${unit}${number === 1 ? '' : 's'}`
const isNamed = (template: Template) => template.parameterFormat === 'NAMED'

export function bodyComponent(template: Template, values: readonly Value[] | undefined): SendComponent | undefined {
  const isOffer = componentOf(template.components, 'LIMITED_TIME_OFFER') !== undefined
  const parameters = fill({
    text: componentOf(template.components, 'BODY')?.text ?? '',
    values,
    field: 'bodyParams',
    limit: isOffer ? offerBodyLimit : bodyLimit,
    named: isNamed(template),
  })
  return parameters.length > 0 ? { type: 'body', parameters } : undefined
}

interface HeaderValues {
  headerParams?: readonly Value[]
  link?: string
  mediaId?: string
  filename?: string
  location?: object
}

/** What the header is comes from the definition, never from what was sent. */
export function headerComponent(template: Template, given: HeaderValues): SendComponent | undefined {
  const header = componentOf(template.components, 'HEADER')
  const format = header?.format ?? (header ? 'TEXT' : undefined)
  const kind = format === 'GIF' ? 'video' : format?.toLowerCase()
  if (kind === 'image' || kind === 'video' || kind === 'document') {
    if (given.link === undefined && given.mediaId === undefined)
      throw missing('link', `is required: the template has a header of type ${kind}`)
    const source = given.mediaId === undefined ? { link: given.link } : { id: given.mediaId }
    const filename = kind === 'document' && given.filename !== undefined ? { filename: given.filename } : {}
    return { type: 'header', parameters: [{ type: kind, [kind]: { ...source, ...filename } }] }
  }
  if (given.link !== undefined || given.mediaId !== undefined)
    throw wrong('link', 'is given, but the template has no media header')
  if (kind === 'location') {
    if (!given.location) throw missing('location', 'is required: the template has a place as header')
    return { type: 'header', parameters: [{ type: 'location', location: given.location }] }
  }
  const parameters = fill({
    text: header?.text ?? '',
    values: given.headerParams,
    field: 'headerParams',
    limit: headerLimit,
    named: isNamed(template),
  })
  return parameters.length > 0 ? { type: 'header', parameters } : undefined
}

interface ButtonValues {
  urlVariables?: readonly Value[]
  copyCodeParam?: string
  quickReplies?: readonly string[]
}

const isDynamicUrl = (button: Button) => button.type === 'URL' && placeholders(button.url).length > 0

/** A component for each button that takes a value; its index is the position in the template. */
export function buttonComponents(
  buttons: readonly Button[],
  given: ButtonValues,
  fields: { urlVariables: (k: number) => string; quickReplies: (k: number) => string } = {
    urlVariables: k => `urlVariables[${k}]`,
    quickReplies: k => `quickReplies[${k}]`,
  },
): SendComponent[] {
  const components: SendComponent[] = []
  let urls = 0
  let replies = 0
  for (const [index, button] of buttons.entries()) {
    if (isDynamicUrl(button)) {
      const field = fields.urlVariables(urls)
      const value = given.urlVariables?.[urls++]
      if (value === undefined) throw missing(field, `is missing: button "${button.text}" has a changing URL`)
      const text = checkValue(field, value)
      components.push({ type: 'button', sub_type: 'url', index, parameters: [{ type: 'text', text }] })
    } else if (button.type === 'QUICK_REPLY') {
      const payload = given.quickReplies?.[replies++]
      if (payload !== undefined)
        components.push({ type: 'button', sub_type: 'quick_reply', index, parameters: [{ type: 'payload', payload }] })
    } else if (button.type === 'COPY_CODE') {
      if (given.copyCodeParam === undefined)
        throw missing('copyCodeParam', 'is missing: the template has a button that copies a code')
      const parameters = [{ type: 'coupon_code', coupon_code: given.copyCodeParam }]
      components.push({ type: 'button', sub_type: 'copy_code', index, parameters })
    }
  }
  return components
}

/** A value that no button takes was meant for something: it is refused, not dropped. */
export function requireNoValuesLeft(buttons: readonly Button[], given: ButtonValues): void {
  const urls = buttons.filter(isDynamicUrl).length
  const replies = buttons.filter(button => button.type === 'QUICK_REPLY').length
  if ((given.urlVariables?.length ?? 0) > urls)
    throw wrong('urlVariables', `has more values than the template has changing URLs (${urls})`)
  if ((given.quickReplies?.length ?? 0) > replies)
    throw wrong('quickReplies', `has more values than the template has quick replies (${replies})`)
  if (given.copyCodeParam !== undefined && !buttons.some(button => button.type === 'COPY_CODE'))
    throw wrong('copyCodeParam', 'is given, but the template has no button that copies a code')
}

export function offerComponent(template: Template, endsAt: number | undefined, now: Date): SendComponent | undefined {
  const offer = componentOf(template.components, 'LIMITED_TIME_OFFER')?.limited_time_offer
  if (endsAt === undefined) {
    if (offer?.has_expiration)
      throw missing('ltoFields.unixTimestamp', 'is required: the offer of the template expires')
    return undefined
  }
  if (endsAt <= now.getTime()) throw wrong('ltoFields.unixTimestamp', 'must be in the future')
  const parameter = { type: 'limited_time_offer', limited_time_offer: { expiration_time_ms: endsAt } }
  return { type: 'limited_time_offer', parameters: [parameter] }
}

type PerCard<T> = readonly (T | readonly T[])[]

interface CarouselValues {
  carouselBodies: readonly { bodyParams?: readonly Value[] }[]
  carouselFileData: readonly { fileUrl: string; fileName?: string }[]
  urlVariables?: PerCard<Value>
  copyCodeParam?: string
  quickReplies?: PerCard<Value>
}

export function cardComponents(template: Template, given: CarouselValues) {
  const cards = componentOf(template.components, 'CAROUSEL')?.cards ?? []
  for (const field of ['carouselBodies', 'carouselFileData'] as const)
    if (given[field].length !== cards.length)
      throw wrong(field, `has ${count(given[field].length, 'item')}, the template has ${cards.length} cards`)
  for (const field of ['urlVariables', 'quickReplies'] as const)
    if ((given[field]?.length ?? 0) > cards.length)
      throw wrong(field, `has more items than the template has cards (${cards.length})`)
  return cards.map((card, index) => ({
    card_index: index,
    components: cardParts(template, card.components, given, index),
  }))
}

function cardParts(template: Template, card: Component[], given: CarouselValues, index: number): SendComponent[] {
  const format = componentOf(card, 'HEADER')?.format?.toLowerCase() ?? 'image'
  const link = given.carouselFileData[index]!.fileUrl
  const parameters = fill({
    text: componentOf(card, 'BODY')?.text ?? '',
    values: given.carouselBodies[index]?.bodyParams,
    field: `carouselBodies[${index}].bodyParams`,
    limit: cardBodyLimit,
    named: isNamed(template),
  })
  const buttons = buttonComponents(
    componentOf(card, 'BUTTONS')?.buttons ?? [],
    {
      urlVariables: listOf(given.urlVariables?.[index]),
      quickReplies: listOf(given.quickReplies?.[index])?.map(String),
      copyCodeParam: given.copyCodeParam,
    },
    { urlVariables: () => `urlVariables[${index}]`, quickReplies: () => `quickReplies[${index}]` },
  )
  return [
    { type: 'header', parameters: [{ type: format, [format]: { link } }] },
    ...(parameters.length > 0 ? [{ type: 'body', parameters }] : []),
    ...buttons,
  ]
}

const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] | undefined =>
  value === undefined ? undefined : Array.isArray(value) ? (value as readonly T[]) : [value as T]
