/**
 * The platform as it behaves, without a network: what a send answers and what is reported later. The sandbox channel
 * calls it inside the process; the fake platform of the tests puts an HTTP server around it.
 *
 * Magic numbers: a recipient whose last six digits are an error code of the platform meets that error. The codes that
 * the platform reports later (131026, 131047, 131049, 131050, 131053, 130472) come as a failed status, all others as
 * the answer itself. Everyone else gets the message and reads it.
 */
import { createHash } from 'node:crypto'
import { type Component, componentOf, placeholders } from '../templates/template.ts'
import { reportedLater, titles } from './errors.ts'

export interface Site {
  phoneNumberId: string
  /** digits, of the business's own number */
  displayNumber: string
  now: Date
  /** distinguishes messages; the same seed makes the same ids */
  seed: string
  findTemplate(name: string, language: string): Promise<SiteTemplate | undefined>
}

export interface SiteTemplate {
  status: string
  category: string
  parameterFormat: string
  components: Component[]
}

export interface News {
  afterMs: number
  change: { field: string; value: object }
}

export interface SiteAnswer {
  status: number
  body: object
  news: News[]
}

interface Send {
  to?: unknown
  recipient?: unknown
  type?: unknown
  messaging_product?: unknown
  biz_opaque_callback_data?: unknown
  template?: { name?: unknown; language?: { code?: unknown }; components?: unknown }
  [part: string]: unknown
}

const types = [
  'text',
  'image',
  'audio',
  'video',
  'document',
  'sticker',
  'location',
  'contacts',
  'reaction',
  'interactive',
  'template',
]

export async function receiveSend(payload: unknown, site: Site): Promise<SiteAnswer> {
  const send = (typeof payload === 'object' && payload !== null ? payload : {}) as Send
  if (send.messaging_product !== 'whatsapp')
    return refuse(100, '(#100) The parameter messaging_product is required.', site)
  const to = readRecipient(send, site)
  if (!to) return refuse(131008, "The parameter 'to' is required.", site)
  if (to.number === site.displayNumber) return refuse(131021, 'Sender and recipient are the same.', site)
  if (typeof send.type !== 'string' || !types.includes(send.type))
    return refuse(131009, "Parameter 'type' is not valid.", site)
  if (typeof send[send.type] !== 'object' || send[send.type] === null)
    return refuse(131008, `The parameter '${send.type}' is required.`, site)
  const magic = magicCode(to.number)
  if (magic !== undefined && !reportedLater.has(magic)) return refuse(magic, titles[magic] ?? '', site)
  if (send.type === 'template') {
    const fault = await templateFault(send.template ?? {}, site)
    if (fault) return refuse(fault.code, fault.details, site)
  }
  return accept(send, to, site, magic)
}

interface Recipient {
  input: string
  number: string
  userId: string
}

/** A number without its plus sign is read as a number of the sender's own country. */
function readRecipient(send: Send, site: Site): Recipient | undefined {
  if (typeof send.to === 'string' && /\d/.test(send.to)) {
    const digits = send.to.replaceAll(/\D/g, '')
    const number = send.to.startsWith('+') ? digits : site.displayNumber.slice(0, 1) + digits
    return { input: send.to, number, userId: '' }
  }
  if (typeof send.recipient === 'string') return { input: send.recipient, number: '', userId: send.recipient }
  return undefined
}

function magicCode(number: string): number | undefined {
  const code = Number(number.slice(-6))
  return code >= 130_000 && titles[code] !== undefined ? code : undefined
}

function accept(send: Send, to: Recipient, site: Site, failsWith: number | undefined): SiteAnswer {
  const id = `wamid.${createHash('sha256').update(`${site.phoneNumberId}:${site.seed}`).digest('base64url').slice(0, 40)}`
  const status = (name: string, afterMs: number, more: object = {}): News => ({
    afterMs,
    change: messagesChange(site, {
      statuses: [
        {
          id,
          status: name,
          timestamp: String(Math.floor((site.now.getTime() + afterMs) / 1000)),
          ...(to.number ? { recipient_id: to.number } : { recipient_user_id: to.userId }),
          ...(send.biz_opaque_callback_data !== undefined && {
            biz_opaque_callback_data: send.biz_opaque_callback_data,
          }),
          ...more,
        },
      ],
    }),
  })
  const pricing = { pricing: { billable: true, pricing_model: 'PMP', type: 'regular', category: 'utility' } }
  const news =
    failsWith === undefined
      ? [status('sent', 100, pricing), status('delivered', 700, pricing), status('read', 1_500)]
      : [status('failed', 400, { errors: [errorElement(failsWith)] })]
  const body = {
    messaging_product: 'whatsapp',
    contacts: [{ input: to.input, ...(to.number ? { wa_id: to.number } : { user_id: to.userId }) }],
    messages: [{ id, ...(send.type === 'template' && { message_status: 'accepted' }) }],
  }
  return { status: 200, body, news }
}

export const messagesChange = (site: Pick<Site, 'displayNumber' | 'phoneNumberId'>, value: object) => ({
  field: 'messages',
  value: {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: site.displayNumber, phone_number_id: site.phoneNumberId },
    ...value,
  },
})

const errorElement = (code: number) => ({
  code,
  title: titles[code],
  message: titles[code],
  error_data: { details: titles[code] },
})

const httpStatuses: Record<number, number> = {
  0: 401,
  190: 401,
  3: 500,
  10: 403,
  131005: 403,
  368: 403,
  131031: 403,
  130497: 403,
  130429: 429,
  80007: 429,
  4: 429,
  2: 503,
  131016: 500,
  133004: 503,
  131000: 500,
  131045: 500,
  131057: 500,
  134102: 500,
  132001: 404,
}

/** The platform's error envelope. */
export function refuse(code: number, details: string, site: Pick<Site, 'seed'>): SiteAnswer {
  const title = titles[code] ?? 'Unknown error'
  return {
    status: httpStatuses[code] ?? 400,
    news: [],
    body: {
      error: {
        message: `(#${code}) ${title}`,
        type: 'OAuthException',
        code,
        error_data: { messaging_product: 'whatsapp', details },
        fbtrace_id: `A${createHash('sha256').update(site.seed).digest('base64url').slice(0, 20)}`,
      },
    },
  }
}

interface SentComponent {
  type?: unknown
  parameters?: unknown
  sub_type?: unknown
  index?: unknown
  cards?: unknown
}

interface Fault {
  code: number
  details: string
}

/** The platform's own look at the parameters of a template: existence, counts, forms, values. */
async function templateFault(sent: NonNullable<Send['template']>, site: Site): Promise<Fault | undefined> {
  const { name, language } = sent
  if (typeof name !== 'string' || typeof language?.code !== 'string')
    return { code: 131008, details: 'template.name and template.language.code are required.' }
  const template = await site.findTemplate(name, language.code)
  if (!template) return { code: 132001, details: `template name (${name}) does not exist in ${language.code}` }
  if (template.status === 'PAUSED') return { code: 132015, details: 'Template is paused' }
  if (template.status === 'DISABLED') return { code: 132016, details: 'Template is disabled' }
  if (template.status !== 'APPROVED') return { code: 132001, details: `template name (${name}) is not approved` }
  const components = (Array.isArray(sent.components) ? sent.components : []) as SentComponent[]
  if (template.category === 'AUTHENTICATION') return undefined
  return (
    textFault('header', componentOf(template.components, 'HEADER'), components) ??
    textFault('body', componentOf(template.components, 'BODY'), components)
  )
}

function textFault(part: 'header' | 'body', defined: Component | undefined, sent: SentComponent[]): Fault | undefined {
  const component = sent.find(one => String(one.type).toLowerCase() === part)
  const parameters = (Array.isArray(component?.parameters) ? component.parameters : []) as {
    type?: unknown
    text?: unknown
  }[]
  const format = part === 'header' ? (defined?.format ?? 'TEXT') : 'TEXT'
  if (format !== 'TEXT') {
    const wanted = format.toLowerCase()
    return parameters[0]?.type === wanted
      ? undefined
      : {
          code: 132012,
          details: `header: Format mismatch, expected ${format}, received ${parameters[0]?.type ?? 'UNKNOWN'}`,
        }
  }
  const expected = placeholders(defined?.text).length
  if (parameters.length !== expected)
    return {
      code: 132000,
      details: `${part}: number of localizable_params (${parameters.length}) does not match the expected number of params (${expected})`,
    }
  for (const parameter of parameters) {
    if (parameter.type !== 'text' || typeof parameter.text !== 'string')
      return { code: 132012, details: `${part}: parameters must be of type text` }
    if (parameter.text === '' || /[\n\t]| {5}/.test(parameter.text))
      return {
        code: 132018,
        details: `${part}: Param text cannot have new-line/tab characters or more than 4 consecutive spaces`,
      }
  }
  return undefined
}
