import type { Business } from '../../platform/business.ts'
import { beginWithRetry, type Database } from '../../platform/database.ts'
import { newIds } from '../../platform/ids.ts'
import { Problem } from '../../platform/problem.ts'
import type { Contact } from '../contacts/contacts.ts'
import { chooseKind } from '../messages/choose-kind.ts'
import type { Kind } from '../messages/kind.ts'
import { storable } from '../storable.ts'
import { templateById } from '../templates/store.ts'
import { isMarketing, type Template } from '../templates/template.ts'
import { fillFields } from './merge-fields.ts'
import * as store from './store.ts'

const batchSize = 1_000
/** After every id: who comes later is not part of it, also when it is paused and goes on. */
const frozenWhole = 'z'

/**
 * Writes one message for each person of the audience, with the values they have now: what is sent later can't change any
 * more, and nobody is asked twice. Where it stopped is written with the batch, so a crash neither loses nor repeats anyone.
 * Answers whether it is done.
 */
export function freezeNext(
  db: Database,
  business: Business,
  id: string,
  { now, mediaId }: { now: Date; mediaId: string | undefined },
): Promise<boolean> {
  return beginWithRetry(db, async tx => {
    const broadcast = await store.lockBroadcast(tx, business.id, id)
    if (broadcast?.status !== 'preparing') return true
    const { lists, tags, templateName, languageCode } = broadcast.request
    const contacts = await store.nextAudience(tx, business.id, {
      lists,
      tags,
      after: broadcast.frozenUntil,
      until: broadcast.startedAt ?? broadcast.createdAt,
      limit: batchSize,
    })
    const template = await templateById(tx, business.id, broadcast.templateId)
    if (!template) throw new Error('The template of the broadcast is gone.')
    const { kind } = await chooseKind(tx, business.id, { type: 'template', templateName, languageCode })
    const wanted = contacts.filter(contact => contact.mobile !== '' && mayReceive(contact, template))
    const ids = newIds(wanted.length)
    const messages = wanted.map((contact, i) =>
      freezeOne(ids[i]!, contact, { broadcast, kind, template, mediaId, now }),
    )
    if (messages.length > 0) {
      await store.insertFrozen(tx, business.id, { broadcastId: id, kind: kind.name, template, messages, now })
      await store.nameBroadcastOnContacts(
        tx,
        business.id,
        id,
        wanted.map(contact => contact.id),
      )
    }
    const done = contacts.length < batchSize
    await store.advanceFreeze(tx, business.id, id, {
      until: done ? frozenWhole : contacts.at(-1)!.id,
      audience: wanted.length,
      skipped: contacts.length - wanted.length,
      done,
      now,
    })
    return done
  })
}

const mayReceive = (contact: Contact, template: Template) =>
  !isMarketing(template) || (contact.optin && !contact.stoppedAt)

/** Somebody whose values do not fit is in the report as failed, with the reason, instead of stopping the others. */
function freezeOne(
  id: string,
  contact: Contact,
  {
    broadcast,
    kind,
    template,
    mediaId,
    now,
  }: { broadcast: store.BroadcastRow; kind: Kind; template: Template; mediaId: string | undefined; now: Date },
): store.FrozenMessage {
  const { templateName, parameters } = broadcast.request
  const base = { id, contactId: contact.id, recipient: contact.mobile }
  const envelope = { messaging_product: 'whatsapp', recipient_type: 'individual', to: `+${contact.mobile}` }
  try {
    const body = kind.read({
      ...fillFields(parameters, contact),
      ...(mediaId !== undefined && { mediaId }),
      type: 'template',
      templateName,
      to: contact.mobile,
    })
    const content = kind.build(body, { template, number: contact.mobile, now })
    return { ...base, payload: { ...envelope, ...storable(content) }, status: 'queued', error: null }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const why = { code: error.code, title: 'The values do not fit the template', details: error.message }
    return { ...base, payload: { ...envelope, type: 'template' }, status: 'failed', error: why }
  }
}
