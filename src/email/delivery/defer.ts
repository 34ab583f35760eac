import type { ReplyClass } from './classify.ts'
import { individual, type Lane } from './lanes.ts'

const minute = 60_000
const hour = 60 * minute

/** When to give up: a receipt that is a day late is worth nothing; a newsletter may take three. */
export const patienceMs = (lane: Lane) => (lane === individual ? 24 * hour : 72 * hour)

/**
 * Greylisting wants to see us again in some minutes; everything else gets 20 minutes, doubling to 4 hours. The spread
 * keeps what was deferred together from coming back together.
 */
export function deferralMs(
  attempts: number,
  why: { class: ReplyClass; reply: string },
  spread = Math.random(),
): number {
  const greylisted = attempts === 1 && /gr[ae]y.?list|postgrey|try (again )?later/i.test(why.reply)
  const base = greylisted ? 5 * minute : Math.min(4 * hour, 20 * minute * 2 ** (attempts - 1))
  return Math.round(base * (1 + (greylisted ? 1 : 0.2) * spread))
}
