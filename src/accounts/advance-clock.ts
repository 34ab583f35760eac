import type { Business } from '../platform/business.ts'
import { nowFor, type TimeKeeper } from '../platform/clock.ts'
import type { Database } from '../platform/database.ts'
import { pause } from '../platform/jobs.ts'
import type { Platform } from '../platform/platform.ts'
import { conflict, unprocessable } from '../platform/problem.ts'
import * as store from './store.ts'

/**
 * Spec silent: a clock may be set anywhere from 1970 to 2200 before it is advanced, but never back, because what happened can't
 * unhappen. Without an end, what falls due on the way would be without end too.
 */
const firstMoment = new Date('1970-01-01T00:00:00.000Z')
const lastMoment = new Date('2200-01-01T00:00:00.000Z')

export async function setClock(platform: Platform, business: Business, now: Date): Promise<Date> {
  requireTestMode(business)
  requireReach(now)
  return inTurn(platform, business, async db => {
    const before = await nowFor(db, business)
    const wasSet = await store.clockIsSet(db, business.id)
    if (wasSet && now < before) throw backwards(before)
    await store.setClock(db, business.id, now)
    return now
  })
}

/**
 * Goes to `target` of the present, stopping at each moment where something falls due, and does it there before going on.
 * Spec silent: after five minutes it stands still where it is, with everything up to there done.
 */
export async function advanceClock(
  platform: Platform,
  keepers: readonly TimeKeeper[],
  business: Business,
  target: (now: Date) => Date,
  limitMs = 300_000,
): Promise<Date> {
  requireTestMode(business)
  return inTurn(platform, business, async db => {
    const start = await nowFor(db, business)
    const to = target(start)
    requireReach(to)
    if (to < start) throw backwards(start)
    await store.setClock(db, business.id, start)
    await stopOnTheWay(db, keepers, business, { start, to, limitMs })
    await store.setClock(db, business.id, to)
    return to
  })
}

async function stopOnTheWay(
  db: Database,
  keepers: readonly TimeKeeper[],
  business: Business,
  { start, to, limitMs }: { start: Date; to: Date; limitMs: number },
): Promise<void> {
  const end = performance.now() + limitMs
  let now = start
  let stuckSince: number | undefined
  for (let stops = 0; ; stops++) {
    const next = await earliestDue(db, keepers, business.id)
    if (!next || next.at > to) return
    if (performance.now() > end)
      throw unprocessable(
        'clock_too_far',
        `So much falls due on the way that the clock came no further than ${now.toISOString()}. Everything up to there is done; advance again to go on.`,
      )
    if (next.at > now) {
      now = next.at
      stuckSince = undefined
      await store.setClock(db, business.id, now)
    } else if (stops > 0) {
      // A worker that held something gave it back undone just now; what comes back for long never gets done.
      stuckSince ??= performance.now()
      if (performance.now() - stuckSince > patienceMs)
        throw new Error(`${next.keeper} still has something due at ${next.at.toISOString()} after doing it.`)
      await pause(20)
    }
    await runAllDue(db, keepers, business.id, now)
  }
}

/**
 * One caller at a time moves the clock of a business, in whatever process: two that stopped at moments of their own
 * would date what falls due by each other's. The others wait. The lock has a connection of its own, because what is
 * done on the way needs those of the pool.
 */
async function inTurn<T>(platform: Platform, business: Business, run: (db: Database) => Promise<T>): Promise<T> {
  const session = platform.connect({ name: 'clock', max: 1, maxLifetimeSeconds: null })
  try {
    return (await session.begin(async tx => {
      const patience = performance.now() + patienceMs
      while (!(await store.tryLockClock(tx, business.id))) {
        if (performance.now() > patience)
          throw conflict('clock_busy', 'The clock is being advanced by another request. Try again when it is done.')
        await pause(20)
      }
      return run(platform.db)
    })) as T
  } finally {
    await session.end({ timeout: 5 })
  }
}

const backwards = (now: Date) =>
  unprocessable('clock_backwards', `The clock stands at ${now.toISOString()} and can't go back.`)

const patienceMs = 30_000

function requireReach(at: Date): void {
  if (!(at >= firstMoment && at <= lastMoment))
    throw unprocessable(
      'clock_too_far',
      `The clock can stand from ${firstMoment.toISOString()} to ${lastMoment.toISOString()}.`,
    )
}

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
