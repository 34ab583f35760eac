import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Db } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import { customFieldsOf } from '../custom-fields/custom-fields.ts'
import { cleanName } from '../lists/lists.ts'
import { claimName, releaseNames, renameTo, requireUnscheduled } from '../lists/names.ts'
import { totalOf } from '../subscribers/pages.ts'
import { ruleBounds } from '../subscribers/sets.ts'
import { ruleNumbers, totalOfRule } from '../subscribers/store-sets.ts'
import { readRules } from './rules.ts'
import * as store from './store.ts'
import type { RuleContext } from './store-rules.ts'

/** A segment is never stored as a set of people: it is asked anew each time, so it is always current. */
export interface CountedSegment extends store.SegmentRow {
  count: number
}

/** Spec silent: bounded, because a subscriber shows the segments it belongs to, so each read asks them all. */
const maxSegments = 200

export async function createSegment(
  db: Database,
  business: Business,
  given: { name: string; rules: unknown },
): Promise<CountedSegment> {
  const context = await contextOf(db, business)
  const segment = { id: newId(), name: cleanName(given.name), rules: readRules(given.rules, context.customFields) }
  return db.begin(async tx => {
    await claimName(tx, business.id, { name: segment.name, kind: 'segment', objectId: segment.id })
    if ((await store.all(tx, business.id)).length >= maxSegments)
      throw unprocessable('too_many_segments', `A business has at most ${maxSegments} segments.`)
    const made = await store.insert(tx, business.id, segment, context.now)
    const counted = (await withCounts(tx, context, [made]))[0]!
    await tell(tx, business, 'segment_create', counted, context.now)
    return counted
  })
}

export async function updateSegment(
  db: Database,
  business: Business,
  id: string,
  given: { name?: string; rules?: unknown },
): Promise<CountedSegment> {
  const context = await contextOf(db, business)
  return db.begin(async tx => {
    const known = (await store.lock(tx, business.id, id)) ?? fail(notFound('Segment'))
    const name = given.name === undefined ? known.name : cleanName(given.name)
    const rules = given.rules === undefined ? known.rules : readRules(given.rules, context.customFields)
    await renameTo(tx, business.id, { name, kind: 'segment', objectId: id })
    const updated = (await store.update(tx, business.id, { id, name, rules }, context.now)) ?? fail(notFound('Segment'))
    const counted = (await withCounts(tx, context, [updated]))[0]!
    await tell(tx, business, 'segment_update', counted, context.now)
    return counted
  })
}

export async function removeSegment(db: Database, business: Business, id: string): Promise<CountedSegment> {
  const now = await nowFor(db, business)
  return db.begin(async tx => {
    const removed = (await store.remove(tx, business.id, id)) ?? fail(notFound('Segment'))
    await requireUnscheduled(tx, business.id, { kind: 'segment', ...removed })
    await releaseNames(tx, business.id, id)
    const gone = { ...removed, count: 0 }
    await tell(tx, business, 'segment_delete', gone, now)
    return gone
  })
}

export async function getSegment(db: Db, business: Business, id: string): Promise<CountedSegment> {
  const segment = (await store.find(db, business.id, id)) ?? fail(notFound('Segment'))
  return (await withCounts(db, await contextOf(db, business), [segment]))[0]!
}

export const countedSegments = async (db: Db, business: Business): Promise<CountedSegment[]> =>
  withCounts(db, await contextOf(db, business), await store.all(db, business.id))

const contextOf = async (db: Db, business: Business): Promise<RuleContext> => ({
  businessId: business.id,
  customFields: await customFieldsOf(db, business.id),
  now: await nowFor(db, business),
})

/** Rules over lists, tags, status and score are counted from kept sets; one pass over the subscribers counts all the others. */
async function withCounts(
  db: Db,
  context: RuleContext,
  segments: readonly store.SegmentRow[],
): Promise<CountedSegment[]> {
  const numbers = await ruleNumbers(db, context.businessId, segments)
  const counts = new Map<string, number>()
  const others: store.SegmentRow[] = []
  for (const segment of segments) {
    const { exact, upper } = ruleBounds(segment.rules, numbers)
    if (exact) counts.set(segment.id, (await totalOfRule(db, context.businessId, upper)).total)
    else others.push(segment)
  }
  const [only] = others
  if (only && others.length === 1) counts.set(only.id, await totalOf(db, context, { segments: others }))
  else for (const [i, count] of (await store.counts(db, context, others)).entries()) counts.set(others[i]!.id, count)
  return segments.map(segment => ({ ...segment, count: counts.get(segment.id) ?? 0 }))
}

const tell = (tx: Parameters<typeof emit>[0], business: Business, type: string, segment: CountedSegment, now: Date) =>
  emit(tx, { businessId: business.id, type, source: 'api', objectId: segment.id, data: segment, at: now })
