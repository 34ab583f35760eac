import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Db } from '../../platform/database.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { leadScoreConfig } from '../lead-score/lead-score.ts'
import * as lists from '../lists/store.ts'
import * as store from './store.ts'

/** Everything from kept totals, so it costs the same at ten subscribers and at ten million. */
export async function subscriberStats(db: Db, business: Business, listIdOrName: string | undefined) {
  const [now, config, all] = await Promise.all([
    nowFor(db, business),
    leadScoreConfig(db, business.id),
    lists.all(db, business.id),
  ])
  const chosen = listIdOrName === undefined ? undefined : chooseList(all, listIdOrName)
  const rows = await store.totals(db, business.id, ['all', 'list'], { now, ...config.thresholds })
  const byList = new Map(rows.filter(row => row.kind === 'list').map(row => [row.number, row]))
  const everyone = rows.find(row => row.kind === 'all')
  const scope = chosen ? byList.get(chosen.number) : everyone
  const total = scope?.total ?? 0
  return {
    totalSubscribersInBusiness: everyone?.total ?? 0,
    // Spec silent: the sum of memberships; who is in two lists counts twice, as in the list counts beside it.
    totalSubscribersAcrossAllLists: all.reduce((sum, list) => sum + (byList.get(list.number)?.total ?? 0), 0),
    listWiseCounts: (chosen ? [chosen] : all).map(list => {
      const counts = byList.get(list.number)
      return {
        _id: list.id,
        listName: list.name,
        count: counts?.total ?? 0,
        totalSubscribers: counts?.total ?? 0,
        unsubscribedCount: counts?.unsubscribed ?? 0,
        engagedCount: counts?.engaged ?? 0,
      }
    }),
    leadScoreAnalytics: {
      averageLeadScore: total === 0 ? 0 : Math.round(((scope?.scoreSum ?? 0) / total) * 100) / 100,
      hotLeads: scope?.hot ?? 0,
      coldLeads: scope?.cold ?? 0,
    },
    leadScoreConfig: config.shown,
    statusAnalytics: {
      subscribed: scope?.subscribed ?? 0,
      unsubscribed: scope?.unsubscribed ?? 0,
      bounced: scope?.bounced ?? 0,
      spam: scope?.complaint ?? 0,
    },
    engagedSubscribers: scope?.engaged ?? 0,
    isListSpecific: chosen !== undefined,
    selectedListName: chosen?.name ?? 'All Subscribers',
  }
}

function chooseList(all: readonly lists.ListRow[], idOrName: string): lists.ListRow {
  const wanted = idOrName.trim().toLowerCase()
  return (
    all.find(list => list.id === wanted) ??
    all.find(list => list.name.toLowerCase() === wanted) ??
    fail(notFound('List'))
  )
}
