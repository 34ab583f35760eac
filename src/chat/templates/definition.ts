import type { FieldError } from '../../platform/problem.ts'
import { type Button, type Component, componentOf, placeholders } from './template.ts'

/** The platform's rules for a template, checked before it is sent for review. */
const limits = {
  header: 60,
  body: 1024,
  footer: 60,
  buttons: 10,
  urlButtons: 2,
  phoneButtons: 1,
  copyCodeButtons: 1,
  label: 25,
  url: 2000,
  phone: 20,
  cards: [2, 10],
  cardBody: 160,
  cardButtons: 2,
  offerText: 16,
  offerBody: 600,
  expiryMinutes: [1, 90],
  apps: 5,
  packageName: 224,
  signatureHash: 11,
} as const

interface Draft {
  category: string
  parameterFormat: string
  components: Component[]
}

export function checkDefinition(draft: Draft): FieldError[] {
  const errors: FieldError[] = []
  const say = (field: string, message: string) => void errors.push({ field, message })
  const { components } = draft
  const types = components.map(component => component.type)
  for (const [index, type] of types.entries())
    if (types.indexOf(type) !== index) say(`components[${index}]`, `repeats ${type}`)
  const body = componentOf(components, 'BODY')
  // The platform writes the text of authentication templates itself.
  if (!body?.text && draft.category !== 'AUTHENTICATION') say('components', 'must contain a BODY with text')
  const isOffer = componentOf(components, 'LIMITED_TIME_OFFER') !== undefined
  for (const [index, component] of components.entries()) {
    const at = `components[${index}]`
    if (component.type === 'HEADER') checkHeader(component, at, draft, say)
    else if (component.type === 'BODY')
      checkText({ text: component.text, at, limit: isOffer ? limits.offerBody : limits.body, draft, say })
    else if (component.type === 'FOOTER')
      draft.category === 'AUTHENTICATION' ? checkExpiry(component, at, say) : checkFooter(component, at, isOffer, say)
    else if (component.type === 'BUTTONS') checkButtons(component.buttons, `${at}.buttons`, limits.buttons, say)
    else if (component.type === 'CAROUSEL') checkCards(component, at, draft, say)
    else if (component.type === 'LIMITED_TIME_OFFER') checkOffer(component, at, draft, say)
    else say(`${at}.type`, 'must be one of HEADER, BODY, FOOTER, BUTTONS, CAROUSEL, LIMITED_TIME_OFFER')
  }
  return errors
}

const lifetimes: Record<string, readonly [number, number]> = {
  AUTHENTICATION: [30, 900],
  UTILITY: [30, 43_200],
  MARKETING: [43_200, 2_592_000],
}

/** -1 stands for 30 days, except in marketing. */
export function checkLifetime(category: string, seconds: number | undefined): FieldError[] {
  const [min, max] = lifetimes[category] ?? [30, 2_592_000]
  if (seconds === undefined || (seconds === -1 && category !== 'MARKETING')) return []
  if (seconds >= min && seconds <= max) return []
  return [{ field: 'message_send_ttl_seconds', message: `must be from ${min} to ${max} in ${category} templates` }]
}

type Say = (field: string, message: string) => undefined
const length = (text: string) => [...text].length

function checkHeader(header: Component, at: string, draft: Draft, say: Say): undefined {
  const format = header.format ?? 'TEXT'
  if (!['TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION', 'GIF'].includes(format))
    say(`${at}.format`, 'must be one of TEXT, IMAGE, VIDEO, DOCUMENT, LOCATION')
  if (format !== 'TEXT') return
  if (!header.text) return say(`${at}.text`, 'is required')
  if (length(header.text) > limits.header) say(`${at}.text`, `must have at most ${limits.header} characters`)
  if (placeholders(header.text).length > 1) say(`${at}.text`, 'must have at most 1 variable')
  checkPlaceholders(header.text, `${at}.text`, draft, say)
}

function checkFooter(footer: Component, at: string, isOffer: boolean, say: Say): undefined {
  if (isOffer) say(at, 'is not possible in a limited-time offer')
  if (!footer.text) return say(`${at}.text`, 'is required')
  if (length(footer.text) > limits.footer) say(`${at}.text`, `must have at most ${limits.footer} characters`)
  if (placeholders(footer.text).length > 0) say(`${at}.text`, 'must not have variables')
}

/** The footer of an authentication template is written by the platform; it may say how long the code is valid. */
function checkExpiry({ code_expiration_minutes: minutes }: Component, at: string, say: Say): undefined {
  const [min, max] = limits.expiryMinutes
  if (minutes === undefined) return
  if (!Number.isInteger(minutes) || Number(minutes) < min || Number(minutes) > max)
    say(`${at}.code_expiration_minutes`, `must be a whole number from ${min} to ${max}`)
}

interface TextCheck {
  text: string | undefined
  at: string
  limit: number
  draft: Draft
  say: Say
}

function checkText({ text, at, limit, draft, say }: TextCheck): undefined {
  if (!text) return draft.category === 'AUTHENTICATION' ? undefined : say(`${at}.text`, 'is required')
  if (length(text) > limit) say(`${at}.text`, `must have at most ${limit} characters`)
  if (/^\s*\{\{|\}\}\s*$/.test(text)) say(`${at}.text`, 'must not begin or end with a variable')
  if (/\}\}\s*\{\{/.test(text)) say(`${at}.text`, 'must not have variables side by side')
  checkPlaceholders(text, `${at}.text`, draft, say)
}

function checkPlaceholders(text: string, field: string, draft: Draft, say: Say): undefined {
  const names = placeholders(text)
  if (draft.parameterFormat === 'NAMED') {
    if (names.some(name => !/^[a-z_][a-z0-9_]*$/.test(name) || name.length > 20))
      say(field, 'must name its variables with lower-case letters and _, at most 20 characters')
    return
  }
  const expected = names.map((_, index) => String(index + 1))
  if (names.toSorted((a, b) => Number(a) - Number(b)).join() !== expected.join())
    say(field, 'must number its variables {{1}}, {{2}} and so on, without gaps')
}

function checkButtons(buttons: Button[] | undefined, at: string, max: number, say: Say): undefined {
  if (!Array.isArray(buttons) || buttons.length === 0) return say(at, 'must have at least 1 item')
  if (buttons.length > max) say(at, `must have at most ${max} items`)
  const atMost = (type: string, allowed: number) => {
    if (buttons.filter(button => button.type === type).length > allowed)
      say(at, `must have at most ${allowed} of type ${type}`)
  }
  atMost('URL', limits.urlButtons)
  atMost('PHONE_NUMBER', limits.phoneButtons)
  atMost('COPY_CODE', limits.copyCodeButtons)
  const groups = buttons.filter((button, index) => index === 0 || isReply(button) !== isReply(buttons[index - 1]!))
  if (groups.length > 2) say(at, 'must keep quick replies together and the other buttons together')
  for (const [index, button] of buttons.entries()) checkButton(button, `${at}[${index}]`, say)
}

const isReply = (button: Button) => button.type === 'QUICK_REPLY'
const buttonTypes = ['QUICK_REPLY', 'URL', 'PHONE_NUMBER', 'COPY_CODE', 'OTP', 'CATALOG', 'MPM', 'SPM', 'FLOW']

function checkButton(button: Button, at: string, say: Say): undefined {
  if (!buttonTypes.includes(button.type)) return say(`${at}.type`, `must be one of ${buttonTypes.join(', ')}`)
  const labelled = !['COPY_CODE', 'OTP'].includes(button.type)
  if (labelled && !button.text) say(`${at}.text`, 'is required')
  if (button.text && length(button.text) > limits.label)
    say(`${at}.text`, `must have at most ${limits.label} characters`)
  if (button.type === 'URL') {
    if (!button.url || !/^https?:\/\/\S+$/.test(button.url)) say(`${at}.url`, 'must be a URL')
    else if (length(button.url) > limits.url) say(`${at}.url`, `must have at most ${limits.url} characters`)
    else if (placeholders(button.url).length > 0 && !/\{\{1\}\}$/.test(button.url))
      say(`${at}.url`, 'may have one variable, {{1}}, at its end')
  }
  if (button.type === 'OTP') checkApps(button.supported_apps, `${at}.supported_apps`, say)
  const phone = button.phone_number
  if (button.type === 'PHONE_NUMBER' && (typeof phone !== 'string' || phone === '' || phone.length > limits.phone))
    say(`${at}.phone_number`, `must have 1 to ${limits.phone} characters`)
}

function checkApps(apps: unknown, at: string, say: Say): undefined {
  if (apps === undefined) return
  if (!Array.isArray(apps) || apps.length > limits.apps) return say(at, `must have at most ${limits.apps} items`)
  for (const [index, app] of apps.entries()) {
    const { package_name: name, signature_hash: hash } = (app ?? {}) as Record<string, unknown>
    if (typeof name !== 'string' || name === '' || length(name) > limits.packageName)
      say(`${at}[${index}].package_name`, `must have 1 to ${limits.packageName} characters`)
    if (typeof hash !== 'string' || length(hash) !== limits.signatureHash)
      say(`${at}[${index}].signature_hash`, `must have ${limits.signatureHash} characters`)
  }
}

function checkCards(carousel: Component, at: string, draft: Draft, say: Say): undefined {
  const cards = Array.isArray(carousel.cards) ? carousel.cards : []
  const [min, max] = limits.cards
  if (cards.length < min || cards.length > max) say(`${at}.cards`, `must have ${min} to ${max} items`)
  const shapes = new Set<string>()
  for (const [index, card] of cards.entries()) {
    const place = `${at}.cards[${index}]`
    const parts = Array.isArray(card?.components) ? card.components : []
    const header = componentOf(parts, 'HEADER')
    if (!header || !['IMAGE', 'VIDEO'].includes(header.format ?? ''))
      say(`${place}.components`, 'must contain a HEADER of format IMAGE or VIDEO')
    const body = componentOf(parts, 'BODY')
    if (body) checkText({ text: body.text, at: place, limit: limits.cardBody, draft, say })
    const buttons = componentOf(parts, 'BUTTONS')
    if (buttons) checkButtons(buttons.buttons, `${place}.buttons`, limits.cardButtons, say)
    const buttonShape = Array.isArray(buttons?.buttons) ? buttons.buttons.map(button => button?.type).join() : ''
    shapes.add(`${header?.format}|${body !== undefined}|${buttonShape}`)
  }
  if (shapes.size > 1) say(`${at}.cards`, 'must all have the same parts')
}

function checkOffer(component: Component, at: string, draft: Draft, say: Say): undefined {
  if (draft.category !== 'MARKETING') say(at, 'is possible in marketing templates only')
  const text = component.limited_time_offer?.text
  if (!text) return say(`${at}.limited_time_offer.text`, 'is required')
  if (length(text) > limits.offerText)
    say(`${at}.limited_time_offer.text`, `must have at most ${limits.offerText} characters`)
}
