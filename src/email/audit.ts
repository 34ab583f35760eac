import { nowFor } from '../platform/clock.ts'
import type { Platform } from '../platform/platform.ts'
import { auditSearch } from './audit-search.ts'
import { totalsOf } from './stats/totals.ts'
import * as store from './store-audit.ts'

/** Recounts every kept total and set from the subscribers themselves; answers each difference. Changes nothing. */
export const auditEmail = (platform: Platform, businessId: string): Promise<string[]> =>
  platform.db.begin(async tx => {
    await store.holdSnapshot(tx)
    const now = await nowFor(tx, { id: businessId, testMode: true })
    const faults: string[] = []
    for (const kind of ['all', 'list', 'tag'] as const) {
      const kept = await totalsOf(tx, businessId, kind, now)
      const counted = new Map((await store.recount(tx, businessId, kind, now)).map(row => [row.number, row]))
      for (const number of new Set([...kept.keys(), ...counted.keys()])) {
        const [has, should] = [kept.get(number), counted.get(number)]
        for (const field of store.countedFields)
          if ((has?.[field] ?? 0) !== (should?.[field] ?? 0))
            faults.push(
              `email: ${field} of ${kind} ${number} is kept as ${has?.[field] ?? 0}, counted ${should?.[field] ?? 0}`,
            )
      }
    }
    for (const { score, kept, counted } of await store.wrongScores(tx, businessId))
      faults.push(`email: the total of score ${score} is kept as ${kept}, counted ${counted}`)
    for (const { key, kept, counted } of await store.wrongSets(tx, businessId))
      faults.push(`email: the set "${key}" holds ${kept} subscribers, counted ${counted}`)
    for (const { block, newer } of await store.wrongNewest(tx, businessId))
      faults.push(`email: ${newer} subscribers of block ${block} are newer than it is said to be`)
    return faults.concat(await auditSearch(tx, businessId))
  })
