import type { Tx } from '../../platform/database.ts'
import { emit, type NewEvent } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { type LeadScoreSettings, leadScoreSettings, scoreOf } from '../lead-score/lead-score.ts'
import { type NewSuppression, suppressAddresses } from '../suppressions/suppressions.ts'
import type { Status } from './schema.ts'
import * as store from './store-activity.ts'

/** Something mail did to a subscriber, as the sending engine found out. */
export interface Activity {
  subscriberId: string
  kind: 'sent' | 'delivered' | 'open' | 'click' | 'bounce' | 'complaint' | 'unsubscribe'
  at: Date
  campaignId: string
  campaignName: string
  /** the first of its kind for that delivery: the unique counts */
  isFirst: boolean
  /** a scanner or prefetching mailbox: recorded, but neither scored nor engaged */
  isMachine: boolean
  /** of a bounce: the address does not exist; this suppresses at once */
  hard?: boolean
  reason?: string
}

export const maxActivity = 30
export const maxCampaigns = 30

/**
 * Keeps totals, history, lead score, engagement, status and suppression in step with what happened, in a handful of
 * statements whatever the number of activities. Totals of lists and statistics follow through the change log.
 */
export async function recordActivities(tx: Tx, businessId: string, activities: readonly Activity[]): Promise<void> {
  if (activities.length === 0) return
  const settings = await leadScoreSettings(tx, businessId)
  const effects = [...groupBy(activities).entries()].map(([id, own]) => effectOf(id, own, settings))
  await store.addActivity(tx, businessId, effects)
  const wornOut = await wornOutAmong(tx, businessId, activities)
  for (const effect of effects) if (wornOut.has(effect.id)) effect.status ??= 'bounced'
  const telling = effects.filter(effect => effect.score !== 0 || effect.engagedAt || effect.status)
  if (telling.length === 0) return
  const now = activities.reduce((latest, { at }) => (at > latest ? at : latest), activities[0]!.at)
  const changed = await store.applyEffects(tx, businessId, telling, now)
  await tellStatusChanges(tx, businessId, changed, activities)
}

export interface Effect {
  id: string
  sent: number
  delivered: number
  opens: number
  uniqueOpens: number
  clicks: number
  uniqueClick: number
  lastOpenAt: Date | null
  lastClickAt: Date | null
  /** newest first: [kind, milliseconds, campaign id, 1 if by a machine] */
  activity: [string, number, string, 0 | 1][]
  campaigns: { _id: string; campaignId: string; campaignName: string }[]
  score: number
  engagedAt: Date | null
  status: Status | null
}

function effectOf(id: string, activities: readonly Activity[], settings: LeadScoreSettings): Effect {
  const newestFirst = activities.toSorted((a, b) => b.at.getTime() - a.at.getTime())
  const count = (kind: Activity['kind'], unique = false) =>
    activities.filter(one => one.kind === kind && (!unique || one.isFirst)).length
  const human = (kind: Activity['kind']) => newestFirst.filter(one => one.kind === kind && !one.isMachine)
  const [opens, clicks] = [human('open'), human('click')]
  const lastOpenAt = opens[0]?.at ?? null
  const lastClickAt = clicks[0]?.at ?? null
  const campaigns = new Map(newestFirst.filter(one => one.kind === 'sent').map(one => [one.campaignId, one]))
  return {
    id,
    sent: count('sent'),
    delivered: count('delivered'),
    opens: count('open'),
    uniqueOpens: count('open', true),
    clicks: count('click'),
    uniqueClick: count('click', true),
    lastOpenAt,
    lastClickAt,
    activity: newestFirst
      .slice(0, maxActivity)
      .map(one => [one.kind, one.at.getTime(), one.campaignId, one.isMachine ? 1 : 0]),
    campaigns: [...campaigns.values()]
      .slice(0, maxCampaigns)
      .map(one => ({ _id: newId(), campaignId: one.campaignId, campaignName: one.campaignName })),
    score:
      opens.length * scoreOf(settings.emailOpen) +
      clicks.length * scoreOf(settings.emailClick) +
      count('bounce') * scoreOf(settings.emailBounce) +
      count('unsubscribe', true) * scoreOf(settings.unsubscribe),
    engagedAt: later(lastOpenAt, lastClickAt),
    status: statusAfter(activities),
  }
}

/** The gravest thing that happened decides. */
function statusAfter(activities: readonly Activity[]): Status | null {
  if (activities.some(one => one.kind === 'complaint')) return 'complaint'
  if (activities.some(one => one.kind === 'bounce' && one.hard)) return 'bounced'
  if (activities.some(one => one.kind === 'unsubscribe')) return 'unsubscribed'
  return null
}

/** So many soft bounces in a row, and nothing delivered, opened or clicked between them, count as a hard one. */
const softInARow = 5

async function wornOutAmong(tx: Tx, businessId: string, activities: readonly Activity[]): Promise<Set<string>> {
  const soft = groupBy(activities.filter(one => one.kind === 'bounce' && !one.hard))
  if (soft.size === 0) return new Set()
  const recent = await store.recentOf(tx, businessId, [...soft.keys()])
  const rounds = (bounces: number) => Math.floor(bounces / softInARow)
  // Each full round counts once, so that whoever is subscribed again begins anew.
  const isWornOut = (one: store.Recent) => rounds(softRun(one)) > rounds(softRun(one) - (soft.get(one.id)?.length ?? 0))
  return new Set(recent.filter(isWornOut).map(one => one.id))
}

/** How many bounces there are since the last sign of life. */
function softRun({ activity, mailed, cameBack }: store.Recent): number {
  const arrived = mailed.filter(([id, stamp]) => stamp % 2 === 1 && !cameBack.includes(id))
  const alive = activity.filter(([kind, , , machine]) => kind === 'delivered' || (isReading(kind) && machine === 0))
  const last = Math.max(0, ...arrived.map(([, stamp]) => Math.floor(stamp / 2)), ...alive.map(([, at]) => at))
  return activity.filter(([kind, at]) => kind === 'bounce' && at > last).length
}

const isReading = (kind: string) => kind === 'open' || kind === 'click'

const statusKinds = { unsubscribed: 'unsubscribe', bounced: 'bounce', complaint: 'complaint' } as const

async function tellStatusChanges(
  tx: Tx,
  businessId: string,
  changed: store.ChangedStatus[],
  activities: readonly Activity[],
): Promise<void> {
  const suppressions: NewSuppression[] = []
  const events: NewEvent[] = []
  const now = activities[0]!.at
  for (const { id, email, status } of changed) {
    if (status === 'subscribed') continue
    const cause = activities.find(one => one.subscriberId === id && one.kind === statusKinds[status])
    const reason = cause?.reason ?? `Told by mail: ${status}`
    suppressions.push({ email, type: status, reason })
    events.push({
      businessId,
      type: `subscriber_${statusKinds[status]}`,
      source: 'channel',
      objectId: id,
      data: { _id: id, email, status, reason, campaignId: cause?.campaignId ?? '' },
      at: cause?.at ?? now,
    })
  }
  await suppressAddresses(tx, businessId, suppressions, now)
  await emit(tx, ...events)
}

const later = (a: Date | null, b: Date | null) => (a && b ? (a > b ? a : b) : (a ?? b))

function groupBy(activities: readonly Activity[]): Map<string, Activity[]> {
  const groups = new Map<string, Activity[]>()
  for (const activity of activities) {
    const group = groups.get(activity.subscriberId)
    if (group) group.push(activity)
    else groups.set(activity.subscriberId, [activity])
  }
  return groups
}
