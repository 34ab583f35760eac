import { addYears, boundary, type LocalDate, localDate, startOfDay } from '../dates.ts'
import type { SubscriptionRow } from './store.ts'

/** How a subscription moves through time; pure. */

const reminderMs = 7 * 86_400_000
const lifetimeYears = 100

export interface Period {
  no: number
  start: LocalDate
  end: LocalDate
}

/** Period k by the anchor: never by the period before, so that a short month does not shorten all that follow. */
export function periodNo(row: SubscriptionRow, no: number): Period {
  const at = (steps: number) => boundary(row.anchorDate, row.periodUnit, row.periodCount, steps)
  return { no, start: at(no - row.anchorPeriodNo), end: at(no + 1 - row.anchorPeriodNo) }
}

export const nextPeriod = (row: SubscriptionRow): Period => periodNo(row, row.periodNo + 1)

/** The period that begins at this date and takes its number, whatever ran before. */
export const restartedAt = (row: SubscriptionRow, on: LocalDate): SubscriptionRow => ({
  ...row,
  anchorDate: on,
  anchorPeriodNo: row.periodNo + 1,
})

/** How many periods after the running one are over. */
export function periodsOver(row: SubscriptionRow, today: LocalDate): number {
  let count = 0
  while (periodNo(row, row.periodNo + 1 + count).end <= today) count++
  return count
}

/** Periods are left out: the next one takes the next number, and the dates stay those of the anchor. */
export const skipped = (row: SubscriptionRow, count: number): SubscriptionRow =>
  count === 0
    ? row
    : {
        ...row,
        anchorPeriodNo: row.anchorPeriodNo - count,
        cyclesLeft: row.cyclesLeft === null ? null : Math.max(1, row.cyclesLeft - count),
      }

export function inPeriod(
  row: SubscriptionRow,
  period: Period,
  options: { now: Date; timeZone: string },
): SubscriptionRow {
  const { now, timeZone } = options
  const cyclesLeft = row.cyclesLeft === null ? null : Math.max(0, row.cyclesLeft - 1)
  const next = {
    ...row,
    cyclesLeft,
    periodNo: period.no,
    periodStart: period.start,
    periodEnd: period.end,
    lastBillingAt: now,
    activationAt: row.activationAt ?? startOfDay(period.start, timeZone),
    parkedError: null,
    updatedAt: now,
  }
  return timed(next, options)
}

/** Sets the moments that follow from its dates. */
export function timed(row: SubscriptionRow, { now, timeZone }: { now: Date; timeZone: string }): SubscriptionRow {
  if (row.periodEnd === null) return row
  const nextBillingAt = startOfDay(row.periodEnd, timeZone)
  const remindAt = new Date(nextBillingAt.getTime() - reminderMs)
  const renews = !row.cancelAtEnd && row.cyclesLeft !== 0
  return {
    ...row,
    nextBillingAt,
    remindAt: renews && remindAt > now ? remindAt : null,
    expiryAt: expiryOf(row, row.periodEnd, timeZone),
  }
}

/** When all cycles are served; a lifetime is a hundred years. */
function expiryOf(row: SubscriptionRow, periodEnd: LocalDate, timeZone: string): Date {
  if (row.cyclesLeft === null) {
    const start = row.activationAt ? localDate(row.activationAt, timeZone) : periodEnd
    return startOfDay(addYears(start, lifetimeYears), timeZone)
  }
  const last = boundary(
    row.anchorDate,
    row.periodUnit,
    row.periodCount,
    row.periodNo + 1 - row.anchorPeriodNo + row.cyclesLeft,
  )
  return startOfDay(last, timeZone)
}

/** Nothing is due any more. */
export const stopped = (row: SubscriptionRow, status: SubscriptionRow['status'], now: Date): SubscriptionRow => ({
  ...row,
  status,
  nextBillingAt: null,
  remindAt: null,
  updatedAt: now,
})
