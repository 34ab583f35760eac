import type { Database, Tx } from '../../platform/database.ts'
import { leadScoreSettings } from '../lead-score/lead-score.ts'
import { noChanges, noteSetChanges } from './bitmaps.ts'
import { type Change, type Facets, isEngaged } from './facets.ts'
import * as store from './store-fold.ts'
import { addTodo } from './store-grams.ts'

/**
 * Folding takes changes off the log and adds them to the totals and bitmaps, in one transaction: a reader sees a change
 * either in the log or folded, never both or neither. One folding of a business runs at a time (its row in email_fold is
 * locked); writers only ever append to the log, so they wait for nobody. If folding stands still, totals stay exact and
 * only become slower to read.
 */
export const foldBatch = 5_000
const engagementStepMs = 60_000

/** Folds one batch; answers how many changes it took. */
export function foldChanges(
  db: Database,
  businessId: string,
  now: Date,
  options: { wait?: boolean } = {},
): Promise<number> {
  return db.begin(async tx => {
    const state = await store.lockFold(tx, businessId, now, options.wait ?? false)
    if (!state) return 0
    const taken = await foldBatchIn(tx, businessId, state.engagedAsOf)
    if (Math.abs(now.getTime() - state.engagedAsOf.getTime()) >= engagementStepMs)
      await store.moveEngagement(tx, businessId, { from: state.engagedAsOf, to: now })
    return taken
  })
}

export async function foldAll(db: Database, businessId: string, now: Date): Promise<number> {
  for (let total = 0; ; ) {
    const taken = await foldChanges(db, businessId, now, { wait: true })
    total += taken
    if (taken < foldBatch) return total
  }
}

/** For a transaction that already holds the fold's lock. */
export async function foldBatchIn(tx: Tx, businessId: string, engagedAsOf: Date): Promise<number> {
  const [changes, { hotFrom, coldTo }] = await Promise.all([
    store.takeChanges(tx, businessId, foldBatch),
    leadScoreSettings(tx, businessId),
  ])
  if (changes.length === 0) return 0
  const counts = new Counts({ hotFrom, coldTo, engagedAsOf })
  for (const change of changes) counts.add(change)
  const sets = noChanges()
  for (const change of netChanges(changes)) noteSetChanges(sets, change)
  await Promise.all([store.addCounts(tx, businessId, counts.rows()), store.changeSets(tx, businessId, sets)])
  const texts = new Map<number, string | null>()
  for (const { slot, textChanged, oldText } of changes) if (textChanged && !texts.has(slot)) texts.set(slot, oldText)
  if (texts.size > 0)
    await addTodo(
      tx,
      businessId,
      [...texts].map(([slot, indexed]) => ({ slot, indexed })),
    )
  return changes.length
}

interface NetChange extends Pick<Change, 'slot' | 'before' | 'after'> {
  /** of the first change: when who comes in was created */
  at: Date
}

/** Changes of one subscriber are in order; only its first and last state matter to the bitmaps. */
function netChanges(changes: readonly Change[]): Iterable<NetChange> {
  const net = new Map<number, NetChange>()
  for (const { slot, at, before, after } of changes) {
    const known = net.get(slot)
    if (known) known.after = after
    else net.set(slot, { slot, at, before, after })
  }
  return net.values()
}

/** Sums changes to one row for each total they touch. */
export class Counts {
  readonly #rows = { all: new Map(), list: new Map(), tag: new Map(), score: new Map() } as Record<
    store.CountRow['kind'],
    Map<number, store.CountRow>
  >
  readonly #rules: { hotFrom: number; coldTo: number; engagedAsOf: Date }

  constructor(rules: { hotFrom: number; coldTo: number; engagedAsOf: Date }) {
    this.#rules = rules
  }

  add({ before, after, at }: Pick<Change, 'before' | 'after' | 'at'>): void {
    if (before) this.#addFacets(before, -1, at)
    if (after) this.#addFacets(after, 1, at)
  }

  rows(): store.CountRow[] {
    return Object.values(this.#rows).flatMap(rows => [...rows.values()])
  }

  #addFacets(facets: Facets, sign: number, at: Date): void {
    this.#addTo('all', 0, facets, sign, at)
    this.#addTo('score', facets.leadScore, facets, sign, at)
    for (const number of facets.listNumbers) this.#addTo('list', number, facets, sign, at)
    for (const number of facets.tagNumbers) this.#addTo('tag', number, facets, sign, at)
  }

  #addTo(kind: store.CountRow['kind'], number: number, facets: Facets, sign: number, at: Date): void {
    let row = this.#rows[kind].get(number)
    if (!row) {
      row = { kind, number, ...store.emptyTally(), updatedAt: at }
      this.#rows[kind].set(number, row)
    }
    const { hotFrom, coldTo, engagedAsOf } = this.#rules
    row.total += sign
    row[facets.status] += sign
    row.scoreSum += sign * facets.leadScore
    if (facets.leadScore >= hotFrom) row.hot += sign
    if (facets.leadScore <= coldTo) row.cold += sign
    if (isEngaged(facets, engagedAsOf)) row.engaged += sign
    if (at > row.updatedAt) row.updatedAt = at
  }
}

/** Thresholds changed: hot and cold are counted anew, exact at this moment. */
export async function recountLeads(tx: Tx, businessId: string, rules: { hotFrom: number; coldTo: number }, now: Date) {
  await store.lockFold(tx, businessId, now, true)
  await store.recountLeads(tx, businessId, rules)
}
