import { beginWithRetry, type Database, type Tx } from '../../platform/database.ts'
import { sendIdOf } from '../delivery/send-id.ts'
import { watchRates } from '../delivery/stop-rules.ts'
import { type Activity, recordActivities } from '../subscribers/activity.ts'
import { type NewSuppression, suppressAddresses } from '../suppressions/suppressions.ts'
import { machineReason } from './machine.ts'
import * as store from './store.ts'
import { takeHits } from './store-hits.ts'

/** Something that came back about a delivery, by pixel, link, page, bounce mail or webhook. */
export interface TrackedEvent {
  /** the same event told twice has the same id, and counts once */
  id: string
  deliveryId: string
  kind: 'delivered' | 'open' | 'click' | 'bounce' | 'complaint' | 'unsubscribe'
  at: Date
  link?: number
  /** of a bounce: the address does not exist */
  hard?: boolean
  /** of a bounce: it blames the sender or what was sent, and so says nothing of the subscriber */
  blamesUs?: boolean
  reason?: string
  ip?: string
  userAgent?: string
  method?: string
  /** a provider's own word that it was a machine */
  isMachine?: boolean
  /** of an unsubscription: asked for in person, so it also ends a subscription that was renewed since it was first asked */
  inPerson?: boolean
}

type Judged = TrackedEvent & { isMachine: boolean }
/** What an event means for the subscriber, who may be nobody. */
type Meaning = Activity & { email: string; deliveryId: string; blamesUs?: boolean }

/**
 * Counts what came back, once: the events, the delivery, its send and the subscriber change in one transaction.
 * Events of deliveries that do not exist are dropped.
 */
export const recordEvents = (db: Database, businessId: string, events: readonly TrackedEvent[]): Promise<void> =>
  beginWithRetry(db, tx => recordIn(tx, businessId, events))

/** Counts opens and clicks that were written down when they came; answers how many. */
export const recordHits = (db: Database, businessId: string, most: number): Promise<number> =>
  beginWithRetry(db, async tx => {
    const hits = await takeHits(tx, businessId, most)
    await recordIn(
      tx,
      businessId,
      hits.map(({ link, ...hit }) => ({ ...hit, ...(link !== null && { link }) })),
    )
    return hits.length
  })

async function recordIn(tx: Tx, businessId: string, events: readonly TrackedEvent[]): Promise<void> {
  const ids = [...new Set(events.map(event => event.deliveryId))]
  const facts = new Map((await store.deliveryFacts(tx, businessId, ids)).map(row => [row.deliveryId, row]))
  const known = events.filter(event => facts.has(event.deliveryId))
  if (known.length === 0) return
  const counted = new Map(
    (await store.lockCounted(tx, businessId, [...facts.keys()])).map(row => [row.deliveryId, row]),
  )
  const clicks = clicksByDelivery(known)
  const judged = known.map(event => {
    const about = facts.get(event.deliveryId)!
    const one = judge(event, clicks.get(event.deliveryId) ?? [], about, counted.get(event.deliveryId)!)
    return { ...one, at: about.clockNow ?? one.at }
  })
  const fresh = new Set((await store.insertEvents(tx, businessId, judged.map(rowOf))).map(row => row.id))
  const news = judged
    .filter(event => fresh.delete(event.id) || event.inPerson)
    .sort((a, b) => a.at.getTime() - b.at.getTime())
  const told = news.flatMap(event => apply(event, counted.get(event.deliveryId)!, facts.get(event.deliveryId)!) ?? [])
  const meanings = await ofWhoHasTheAddress(tx, businessId, told)
  await store.saveCounted(tx, businessId, [...counted.values()])
  await tally(tx, businessId, meanings)
  await recordActivities(
    tx,
    businessId,
    meanings.filter(one => one.subscriberId !== '' && !one.blamesUs),
  )
  await suppressStrangers(tx, businessId, meanings)
}

function clicksByDelivery(events: readonly TrackedEvent[]): Map<string, TrackedEvent[]> {
  const clicks = new Map<string, TrackedEvent[]>()
  for (const event of events)
    if (event.kind === 'click') {
      const known = clicks.get(event.deliveryId)
      if (known) known.push(event)
      else clicks.set(event.deliveryId, [event])
    }
  return clicks
}

function judge(
  event: TrackedEvent,
  clicks: readonly TrackedEvent[],
  facts: store.DeliveryFacts,
  counted: store.Counted,
): Judged {
  if (event.kind !== 'open' && event.kind !== 'click') return { ...event, isMachine: false }
  if (event.isMachine) return { ...event, isMachine: true, reason: event.reason ?? 'told by the provider' }
  const at = event.at.getTime()
  const links = new Set(clicks.filter(other => Math.abs(other.at.getTime() - at) < 5_000).map(other => other.link))
  if (counted.lastClickAt && Math.abs(at - counted.lastClickAt.getTime()) < 2_000)
    links.add(counted.lastClickLink ?? -1)
  const reason = machineReason({
    kind: event.kind,
    method: event.method ?? 'GET',
    userAgent: event.userAgent ?? '',
    sinceDeliveryMs: facts.captured ? Number.POSITIVE_INFINITY : at - facts.deliveredAt.getTime(),
    linksAtOnce: event.kind === 'click' ? links.size : 0,
  })
  return { ...event, isMachine: reason !== undefined, ...(reason !== undefined && { reason }) }
}

const clean = (text: string | undefined, longest: number) =>
  (text ?? '').replaceAll('\0', '').toWellFormed().slice(0, longest)

const rowOf = (event: Judged): store.EventRow => ({
  id: event.id,
  deliveryId: event.deliveryId,
  kind: event.kind,
  at: event.at,
  link: event.link ?? null,
  isMachine: event.isMachine,
  reason: clean(event.reason, 1_000),
  ip: clean(event.ip, 100),
  userAgent: clean(event.userAgent, 500),
})

const onceFields = {
  delivered: 'deliveredAt',
  bounce: 'bouncedAt',
  complaint: 'complainedAt',
  unsubscribe: 'unsubscribedAt',
} as const

/** Marks the delivery; answers what it means for the subscriber, or nothing when it was said before. */
function apply(event: Judged, counted: store.Counted, facts: store.DeliveryFacts): Meaning | undefined {
  const base = {
    subscriberId: facts.subscriberId ?? '',
    email: facts.email,
    deliveryId: event.deliveryId,
    kind: event.kind,
    at: event.at,
    campaignId: facts.campaignId,
    campaignName: facts.campaignName,
    isMachine: event.isMachine,
    ...(event.reason !== undefined && { reason: clean(event.reason, 500) }),
  }
  if (event.kind !== 'open' && event.kind !== 'click') {
    const field = onceFields[event.kind]
    if (counted[field]) return event.inPerson ? { ...base, isFirst: false } : undefined
    counted[field] = event.at
    return { ...base, isFirst: true, hard: event.hard ?? false, blamesUs: event.blamesUs ?? false }
  }
  const field = event.kind === 'open' ? 'openedAt' : 'clickedAt'
  const isFirst = !event.isMachine && counted[field] === null
  if (isFirst) counted[field] = event.at
  if (event.kind === 'click') {
    counted.lastClickAt = event.at
    counted.lastClickLink = event.link ?? null
  }
  return { ...base, isFirst }
}

const aboutAddress = (one: Meaning) => one.kind === 'bounce' || one.kind === 'complaint' || one.kind === 'unsubscribe'

/**
 * Bounces, complaints and unsubscriptions are about an address: they concern whoever has it now. Who was mailed may
 * have been deleted since, and perhaps made anew, or was no subscriber then. Asked again, an unsubscription that holds
 * means nothing.
 */
async function ofWhoHasTheAddress(tx: Tx, businessId: string, meanings: Meaning[]): Promise<Meaning[]> {
  const emails = meanings.filter(aboutAddress).map(one => one.email)
  if (emails.length === 0) return meanings
  const owners = new Map((await store.ownersNow(tx, businessId, emails)).map(row => [row.email, row]))
  return meanings.flatMap(one => {
    const owner = aboutAddress(one) && owners.get(one.email)
    if (!owner) return one
    const holds = owner.status ? owner.status !== 'subscribed' : owner.isSuppressed
    return one.kind === 'unsubscribe' && !one.isFirst && holds ? [] : { ...one, subscriberId: owner.id ?? '' }
  })
}

async function tally(tx: Tx, businessId: string, meanings: readonly Meaning[]): Promise<void> {
  for (const sendId of [...new Set(meanings.map(one => sendIdOf(one.deliveryId)))].sort()) {
    const own = meanings.filter(one => sendIdOf(one.deliveryId) === sendId)
    const number = (kind: Activity['kind'], test: (one: Activity) => boolean = () => true) =>
      own.filter(one => one.kind === kind && test(one)).length
    const now = own.reduce((latest, { at }) => (at > latest ? at : latest), own[0]!.at)
    const send = await store.addToSend(
      tx,
      businessId,
      sendId,
      {
        delivered: number('delivered'),
        hardBounces: number('bounce', one => one.hard === true),
        complaints: number('complaint'),
        unsubscribes: number('unsubscribe', one => one.isFirst),
        opens: number('open'),
        uniqueOpens: number('open', one => one.isFirst),
        machineOpens: number('open', one => one.isMachine),
        clicks: number('click'),
        uniqueClicks: number('click', one => one.isFirst),
        machineClicks: number('click', one => one.isMachine),
      },
      now,
    )
    // Complaints arrive hours later; a campaign that still runs then is stopped by them too.
    if (send) await watchRates(tx, businessId, { ...send, ...own[0]!, sendId, now })
  }
}

/** Who is no subscriber is remembered by address alone. */
async function suppressStrangers(tx: Tx, businessId: string, meanings: readonly Meaning[]): Promise<void> {
  const entries = meanings.flatMap((one): NewSuppression[] => {
    if (one.subscriberId !== '') return []
    const reason = one.reason ?? `Told by mail: ${one.kind}`
    if (one.kind === 'complaint') return [{ email: one.email, type: 'complaint', reason }]
    if (one.kind === 'unsubscribe') return [{ email: one.email, type: 'unsubscribed', reason }]
    if (one.kind === 'bounce' && one.hard) return [{ email: one.email, type: 'bounced', reason }]
    return []
  })
  if (entries.length > 0) await suppressAddresses(tx, businessId, entries, meanings[0]!.at)
}
