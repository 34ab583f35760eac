import type { Business } from '../../platform/business.ts'
import { beginWithRetry, type Database, type Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { badRequest, fail, notFound, unprocessable } from '../../platform/problem.ts'
import { newContact } from '../contacts/contacts.ts'
import { listsNamed } from '../lists/store.ts'
import { getMedia, isOurs } from '../media/content.ts'
import { chooseKind } from '../messages/choose-kind.ts'
import { missingNames } from '../settings/settings.ts'
import { storable } from '../storable.ts'
import { tally } from '../store.ts'
import { tallyNames } from '../tally.ts'
import { requireApproved } from '../templates/templates.ts'
import { attributesNeeded, fillFields, unknownFields } from './merge-fields.ts'
import * as store from './store.ts'

/**
 * A broadcast that is made for a later moment is `scheduled` until then. It is `preparing` while its audience is frozen into messages, one for each person with their own values; then
 * `sending`. It may be `paused`, by a person or because the platform stopped something, and goes on where it was. It ends
 * `finished` when every message has an outcome, or `cancelled`.
 */
export interface NewBroadcast {
  name: string
  templateName: string
  languageCode?: string
  scheduledAt?: string | null
  lists?: string[]
  tags?: string[]
  [parameter: string]: unknown
}

export async function createBroadcast(
  db: Database,
  business: Business,
  { body, now }: { body: NewBroadcast; now: Date },
): Promise<store.BroadcastRow> {
  const { name, templateName, languageCode, scheduledAt, lists = [], tags = [], ...rest } = storable(body)
  if (lists.length + tags.length === 0)
    throw badRequest('validation_failed', 'Give lists or tags.', [
      { field: 'lists', message: 'or tags must name someone' },
    ])
  const { to: _to, contact: _contact, type: _type, ...parameters } = rest as Record<string, unknown>
  const send = { type: 'template', templateName, ...(languageCode !== undefined && { languageCode }) }
  const { kind, template } = await chooseKind(db, business.id, send)
  if (!template) throw new Error('A template kind has a template.')
  requireApproved(template)
  await requireFields(db, business.id, parameters)
  // Tried with somebody made up, so that a broadcast that could reach nobody is refused at once.
  const example = { ...newContact({ mobile: '10000000', source: 'api', now }), name: 'Example' }
  const trial = fillFields(withFallbacks(parameters), example)
  kind.build(kind.read({ ...send, ...trial, to: example.mobile }), { template, number: example.mobile, now })
  const audience = { lists: await requireLists(db, business.id, lists), tags }
  await requireTags(db, business.id, tags)
  if (typeof parameters.mediaId === 'string' && isOurs(parameters.mediaId))
    await getMedia(db, business.id, parameters.mediaId)
  const request = { templateName, languageCode: template.language, ...audience, parameters }
  return store.insertBroadcast(db, business.id, {
    id: newId(),
    name,
    templateId: template.id,
    request,
    scheduledAt: scheduledAt ? readMoment(scheduledAt, now) : null,
    now,
  })
}

function readMoment(text: string, now: Date): Date {
  const moment = new Date(text)
  if (!(moment > now)) throw unprocessable('scheduled_in_the_past', `scheduledAt must be after ${now.toISOString()}.`)
  return moment
}

/** As the lists spell them; a name that is none would silently reach nobody. */
async function requireLists(db: Db, businessId: string, wanted: string[]): Promise<string[]> {
  const known = new Map((await listsNamed(db, businessId, wanted)).map(({ name }) => [name.toLowerCase(), name]))
  const missing = wanted.filter(name => !known.has(name.toLowerCase()))
  if (missing.length > 0) throw unprocessable('list_unknown', `No such list: ${quoted(missing)}.`)
  return [...known.values()]
}

async function requireTags(db: Db, businessId: string, wanted: string[]): Promise<void> {
  const gone = await missingNames(db, 'chat_tag', businessId, wanted)
  // Contacts keep a tag that was removed from the settings, and are reached by it.
  const counts = await Promise.all(gone.map(name => tally(db, businessId, tallyNames.tag(name))))
  const missing = gone.filter((_, index) => counts[index] === 0)
  if (missing.length > 0) throw unprocessable('not_in_settings', `Not in settings: tags ${quoted(missing)}.`)
}

/** A slip of the pen would go out to everybody, or let every message fail for want of a value. */
async function requireFields(db: Db, businessId: string, parameters: Record<string, unknown>): Promise<void> {
  const [unknown] = unknownFields(parameters)
  if (unknown !== undefined)
    throw unprocessable(
      'field_unknown',
      `${unknown} is not a value of a contact. Use {{name}}, {{mobile}} or {{attributes.city}}, with a text for where there is none: {{name|friend}}.`,
    )
  const missing = await missingNames(db, 'chat_attribute', businessId, attributesNeeded(parameters))
  if (missing.length > 0) throw unprocessable('not_in_settings', `Not in settings: attributes ${quoted(missing)}.`)
}

const quoted = (names: readonly string[]) => names.map(name => `"${name}"`).join(', ')

/** In the trial every attribute has a value. */
const withFallbacks = (parameters: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(parameters).replaceAll(/\{\{\s*attributes\.[^{}|"]+?\s*(\|[^{}"]*)?\}\}/g, 'x'))

export const getBroadcast = async (db: Db, businessId: string, id: string) =>
  (await store.broadcastById(db, businessId, id)) ?? fail(notFound('Broadcast'))

export async function pauseBroadcast(
  db: Db,
  businessId: string,
  id: string,
  { reason, now }: { reason: string; now: Date },
): Promise<store.BroadcastRow> {
  const paused = await store.setStatus(db, businessId, id, {
    from: ['scheduled', 'sending', 'preparing', 'paused'],
    to: 'paused',
    reason,
    now,
  })
  return paused ?? refuse(db, businessId, id, 'paused')
}

/** Goes on where it stopped: with the waiting for its moment, with the freezing, or with the sending. */
export async function resumeBroadcast(db: Db, businessId: string, id: string, now: Date): Promise<store.BroadcastRow> {
  const before = await getBroadcast(db, businessId, id)
  const to = !before.startedAt && before.scheduledAt && before.scheduledAt > now ? 'scheduled' : 'preparing'
  const resumed = await store.setStatus(db, businessId, id, { from: ['paused'], to, reason: '', now })
  if (resumed) return resumed
  const present = await getBroadcast(db, businessId, id)
  if (['scheduled', 'preparing', 'sending'].includes(present.status)) return present
  return refuse(db, businessId, id, 'resumed')
}

/** What is out stays out; what waits is not sent any more. */
export function cancelBroadcast(db: Database, businessId: string, id: string, now: Date): Promise<store.BroadcastRow> {
  return beginWithRetry(db, async tx => {
    const cancelled = await store.setStatus(tx, businessId, id, {
      from: ['scheduled', 'preparing', 'sending', 'paused'],
      to: 'cancelled',
      reason: '',
      now,
    })
    if (!cancelled) return refuse(tx, businessId, id, 'cancelled')
    await store.cancelQueued(tx, businessId, id, now)
    return cancelled
  })
}

async function refuse(db: Db, businessId: string, id: string, verb: string): Promise<never> {
  const { name, status } = await getBroadcast(db, businessId, id)
  throw unprocessable('broadcast_state', `Broadcast "${name}" is ${status} and can't be ${verb}.`)
}
