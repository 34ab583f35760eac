import { createHash } from 'node:crypto'
import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import type { Platform } from '../../platform/platform.ts'
import { changeConsent } from '../contacts/consent.ts'
import { findNumber } from '../phone.ts'
import { syncQueue } from '../templates/jobs.ts'
import { shownTemplate } from '../templates/shown.ts'
import { setTemplateState } from '../templates/store.ts'
import { resolveContact } from './identity.ts'
import * as store from './store.ts'

/** A change that is neither a message nor a status: templates, preferences, and what only needs to be told on. */
export interface Change {
  field: string
  value: Record<string, unknown>
  entryTime: unknown
}

export async function applyChange(
  platform: Platform,
  tx: Tx,
  business: Business,
  change: Change,
  now: Date,
): Promise<void> {
  if (!(await store.firstTimeSeen(tx, business.id, keyOf(change), now))) return
  const { field, value } = change
  if (field === 'message_template_status_update')
    return changeTemplate(platform, tx, business, value, {
      status: templateState(value.event),
      reason: text(value.reason) ?? '',
      now,
    })
  if (field === 'message_template_quality_update')
    return changeTemplate(platform, tx, business, value, { quality: text(value.new_quality_score), now })
  if (field === 'template_category_update')
    return changeTemplate(platform, tx, business, value, { category: text(value.new_category), now })
  if (field === 'user_preferences') return applyPreference(tx, business, value, now)
  if (field === 'message_template_components_update') await fetchTemplates(platform, tx, business)
  await emit(tx, {
    businessId: business.id,
    type: 'channel_update',
    source: 'channel',
    objectId: business.id,
    data: { field, value },
    at: now,
  })
}

function keyOf({ field, value, entryTime }: Change): string {
  if (field === 'message_template_status_update')
    return `template:${value.message_template_name}:${value.message_template_language}:${value.event}:${entryTime}`.slice(
      0,
      1000,
    )
  if (field === 'user_preferences')
    return `preference:${value.wa_id ?? value.user_id}:${value.category}:${value.value}:${value.timestamp}`.slice(
      0,
      1000,
    )
  return `${field.slice(0, 100)}:${createHash('sha256')
    .update(canonical([value, entryTime]))
    .digest('hex')}`
}

/** The same value makes the same text, in whatever order its fields came. */
const canonical = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(canonical).join()}]`
    : typeof value === 'object' && value !== null
      ? `{${Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`)
          .join()}}`
      : (JSON.stringify(value) ?? 'null')

const text = (value: unknown) => (typeof value === 'string' ? value.slice(0, 1000) : undefined)

/** Some events bring a template back to what it was. */
function templateState(event: unknown): string | undefined {
  const name = text(event)?.toUpperCase()
  return name === 'REINSTATED' || name === 'UNARCHIVED' || name === 'UNPAUSED' ? 'APPROVED' : name
}

/** Found by name and language: the id comes as a number that may be too long to be read exactly. */
async function changeTemplate(
  platform: Platform,
  tx: Tx,
  business: Business,
  value: Record<string, unknown>,
  change: { status?: string; category?: string; quality?: string; reason?: string; now: Date },
): Promise<void> {
  const name = text(value.message_template_name)
  const language = text(value.message_template_language)
  if (!name || !language) throw new Error('The change names no template.')
  const template = await setTemplateState(tx, business.id, { name, language, ...change })
  // Made or renamed over there, it is not known here yet.
  if (!template) return fetchTemplates(platform, tx, business)
  await emit(tx, {
    businessId: business.id,
    type: 'template_status',
    source: 'channel',
    objectId: template.id,
    data: shownTemplate(template),
    at: change.now,
  })
}

const fetchTemplates = async ({ jobs }: Platform, tx: Tx, { id }: Business) =>
  void (await jobs.enqueue(tx, syncQueue, { businessId: id }, { singletonKey: id }))

async function applyPreference(tx: Tx, business: Business, value: Record<string, unknown>, now: Date): Promise<void> {
  const phone = findNumber(value.wa_id)
  const userId = text(value.user_id)
  if (!phone && !userId) throw new Error('The preference names no person.')
  const said = text(value.value)
  if (value.category !== 'marketing_messages' || !said) return
  const contact = await resolveContact(tx, business, { phone, userId, profileName: '' }, now)
  const decision = said === 'stop' ? 'stop' : 'resume'
  const seconds = Number(value.timestamp)
  const saidAt = seconds > 0 && seconds * 1000 <= now.getTime() ? new Date(seconds * 1000) : now
  await changeConsent(tx, business, contact.id, { decision, source: 'preference', evidence: said, saidAt, now })
}
