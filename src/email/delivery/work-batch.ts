import type { Database } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { type Batch, type Item, leave, rangeOf, sendIdsOf } from './batch.ts'
import { captureInOutbox } from './capture.ts'
import { campaign } from './lanes.ts'
import type { Outcomes } from './outcomes.ts'
import type { Routing } from './routing.ts'
import type { SendContext, SendContexts } from './send-context.ts'
import { sendIdOf } from './send-id.ts'
import { type Counting, settleBlock, settleDeferrals } from './settle.ts'
import * as store from './store-work.ts'

/** What all batches of an engine share. */
export interface Machinery {
  platform: Platform
  db: Database
  workerId: string
  now(businessId: string): Date
  outcomes: Outcomes
  routing: Routing
  contexts: SendContexts
}

/** Sets a batch on its way: who must not be mailed has a result at once, all others go to the routing. */
export async function dispatchBatch(machinery: Machinery, batch: Batch): Promise<void> {
  const { platform, db, outcomes, routing, now } = machinery
  const items = await itemsOf(machinery, batch)
  batch.left = items.length
  if (items.length === 0) return batch.end()
  const mailable = new Map<SendContext, Item[]>()
  for (const item of items) {
    const why = whyNotToMail(item)
    // Not awaited one by one: they share a commit.
    if (item.send.row.state === 'cancelled') void outcomes.cancelled(item).catch(() => leave(item))
    else if (why) void outcomes.excluded(item, why).catch(() => leave(item))
    else mailable.getOrInsertComputed(item.send, () => []).push(item)
  }
  for (const [send, own] of mailable)
    await routing.dispatch(send, own, () => captureInOutbox(platform, db, outcomes, send, own, now))
}

async function itemsOf({ db, contexts }: Machinery, batch: Batch): Promise<Item[]> {
  const sends = new Map<string, SendContext>()
  for (const id of sendIdsOf(batch)) {
    const context = await contexts.get(batch.businessId, id)
    if (context) sends.set(id, context)
  }
  const people = batch.block
    ? await store.peopleOfBlock(db, batch.businessId, { ...batch.block, ...rangeOf(batch.block) })
    : await store.peopleDeferred(db, batch.businessId, batch.deferrals)
  const deferrals = new Map(batch.deferrals.map(one => [one.deliveryId, one]))
  return people.flatMap((person): Item[] => {
    const send = sends.get(sendIdOf(person.deliveryId))
    if (!send) return []
    const { attempts = 0, expiresAt } = deferrals.get(person.deliveryId) ?? {}
    return [{ batch, send, person, attempts, expiresAt, pushbacks: 0, avoid: undefined }]
  })
}

/** Who opted out, was deleted or is known not to exist since the audience was frozen. */
function whyNotToMail({ person, send }: Item): string | undefined {
  if (person.suppression && !(send.isSystem && person.suppression === 'unsubscribed'))
    return `suppressed: ${person.suppression}`
  if (person.deleted) return 'the subscriber was deleted'
  if (send.row.lane === campaign && person.status !== null && person.status !== 'subscribed')
    return `the subscriber is ${person.status}`
  return undefined
}

/** Counts a batch that ended, or gives its claim back where results are missing. */
export async function finishBatch({ db, workerId, now, routing }: Machinery, batch: Batch): Promise<void> {
  const counting: Counting = {
    workerId,
    now: now(batch.businessId),
    tellsDelivery: serverId => routing.tellsDelivery(batch.businessId, serverId),
  }
  if (!batch.block) {
    await settleDeferrals(db, batch, counting)
    const deliveryIds = batch.deferrals.map(one => one.deliveryId)
    await store.releaseDeferrals(db, batch.businessId, { workerId, deliveryIds })
  } else if (!(await settleBlock(db, batch, counting))) {
    await store.releaseBlock(db, batch.businessId, { workerId, ...batch.block })
  }
}
