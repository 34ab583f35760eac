import type { Business } from '../platform/business.ts'
import { nowFor, type TimeKeeper } from '../platform/clock.ts'
import type { Database } from '../platform/database.ts'
import { unprocessable } from '../platform/problem.ts'
import * as store from './store.ts'

/** Spec silent: a clock may be set anywhere before it is advanced, but never back, because what happened can't unhappen. */
export async function setClock(db: Database, business: Business, now: Date): Promise<Date> {
  requireTestMode(business)
  const before = await nowFor(db, business)
  const wasSet = await store.clockIsSet(db, business.id)
  if (wasSet && now < before)
    throw unprocessable('clock_backwards', `The clock stands at ${before.toISOString()} and can't go back.`)
  await store.setClock(db, business.id, now)
  return now
}

/** Goes to `to`, stopping at each moment where something falls due, and does it there before going on. */
export async function advanceClock(
  db: Database,
  keepers: readonly TimeKeeper[],
  business: Business,
  to: Date,
): Promise<Date> {
  requireTestMode(business)
  const start = await nowFor(db, business)
  if (to < start)
    throw unprocessable('clock_backwards', `The clock stands at ${start.toISOString()} and can't go back.`)
  let now = start
  await store.setClock(db, business.id, now)
  for (let guard = 0; ; guard++) {
    if (guard > maxStops)
      throw unprocessable(
        'clock_too_far',
        `More than ${maxStops} moments fall due on the way; advance in smaller steps.`,
      )
    const next = await earliestDue(db, keepers, business.id)
    if (!next || next.at > to) break
    if (next.at > now) {
      now = next.at
      await store.setClock(db, business.id, now)
    }
    await runAllDue(db, keepers, business.id, now)
    const again = await earliestDue(db, keepers, business.id)
    if (again && again.at <= now)
      throw new Error(`${again.keeper} still has something due at ${again.at.toISOString()} after doing it.`)
  }
  await store.setClock(db, business.id, to)
  return to
}

const maxStops = 100_000

function requireTestMode(business: Business): void {
  if (!business.testMode)
    throw unprocessable('not_in_test_mode', 'Only a business made in test mode has a clock that can be moved.')
}

async function earliestDue(db: Database, keepers: readonly TimeKeeper[], businessId: string) {
  let earliest: { at: Date; keeper: string } | undefined
  for (const keeper of keepers) {
    const at = await keeper.nextDue(db, businessId)
    if (at && (!earliest || at < earliest.at)) earliest = { at, keeper: keeper.name }
  }
  return earliest
}

async function runAllDue(db: Database, keepers: readonly TimeKeeper[], businessId: string, now: Date): Promise<void> {
  for (const keeper of keepers) {
    const due = await keeper.nextDue(db, businessId)
    if (due && due <= now) await keeper.run(businessId, now)
  }
}
