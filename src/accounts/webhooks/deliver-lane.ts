import { downAfterFailures, giveUpAfterMs, nextAttempt, pauseAfter } from './deliver-backoff.ts'
import type { Outcome } from './send.ts'
import type { Target } from './sign.ts'
import type { DisabledReason } from './store.ts'
import type { ClaimedRow, DueRow, EndpointKey, HealthRow, ResultRow } from './store-work.ts'

/**
 * One endpoint in the hands of this process: what it holds of its deliveries, and how it has answered so far. No I/O.
 *
 * Deliveries of one object form a chain: the first is under way or ready, the others wait for it. A lane is *open*
 * while it may start requests, and *closed* when the endpoint is down, disabled or no longer ours; then it only waits
 * for what is under way. It starts narrow and widens with every success: so a dead endpoint holds one connection, a
 * quick one many.
 */
export interface Lane extends EndpointKey {
  open: boolean
  /** another process took it over; nothing of it may be written */
  lost: boolean
  target: Target | undefined
  chains: Map<string, DueRow[]>
  ready: string[]
  /** events it has taken and whose results are not written yet: they look due, but must not be taken again */
  held: Set<string>
  running: number
  /** attempts whose results are not written yet */
  unwritten: number
  width: number
  /** the last look found less than there was room for */
  drained: boolean
  lookedAt: number
  failures: number
  failingSince: Date | null
  pausedUntil: Date | null
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
  healthChanged: boolean
}

const maxWidth = 32
/** enough that a lane does not run dry between two rounds */
const heldPerWidth = 8

export const newLane = ({ businessId, endpointId, failures, failingSince }: ClaimedRow): Lane => ({
  businessId,
  endpointId,
  open: true,
  lost: false,
  target: undefined,
  chains: new Map(),
  ready: [],
  held: new Set(),
  running: 0,
  unwritten: 0,
  width: 1,
  drained: false,
  lookedAt: 0,
  failures,
  failingSince,
  pausedUntil: null,
  lastSuccessAt: null,
  lastFailureAt: null,
  healthChanged: false,
})

/** How many more deliveries it wants to hold; one at a time while it fails. */
export const roomOf = (lane: Lane): number => (lane.failures > 0 ? 1 : lane.width * heldPerWidth) - lane.held.size

/**
 * Takes a due delivery, in the order of the feed. False: the one just before it of the same object is not the last of
 * the chain here (it stands back itself, or its result is not written yet), so this one must stand back too.
 */
export function take(lane: Lane, row: DueRow): boolean {
  const chain = lane.chains.get(row.objectId)
  if (chain) {
    if (chain.at(-1)?.eventId !== row.previousId) return false
    chain.push(row)
  } else if (row.previousId === null) {
    lane.chains.set(row.objectId, [row])
    lane.ready.push(row.objectId)
  } else return false
  lane.held.add(row.eventId)
  return true
}

/** The next delivery to send now, if there is one and the lane is wide enough. */
export function next(lane: Lane): DueRow | undefined {
  if (!lane.open || lane.running >= lane.width) return undefined
  const objectId = lane.ready.shift()
  if (objectId === undefined) return undefined
  lane.running++
  return lane.chains.get(objectId)?.[0]
}

export interface Settled {
  result: ResultRow
  /** later deliveries of the object that must wait as well */
  standBack: (EndpointKey & { eventId: string; until: Date })[]
  /** it was down and is back */
  recovered: boolean
  disable: DisabledReason | undefined
}

/** Draws the conclusions of an attempt. */
export function settle(lane: Lane, row: DueRow, outcome: Outcome, now: Date): Settled {
  lane.running--
  lane.unwritten++
  lane.healthChanged = true
  const chain = lane.chains.get(row.objectId) ?? []
  const { at, status, answer, error, durationMs } = outcome
  const key = { businessId: lane.businessId, endpointId: lane.endpointId }
  const result: ResultRow = {
    ...key,
    eventId: row.eventId,
    state: 'delivered',
    nextAttemptAt: null,
    at,
    status,
    answer,
    error,
    durationMs,
  }
  if (outcome.succeeded) {
    const recovered = lane.failures >= downAfterFailures
    Object.assign(lane, { failures: 0, failingSince: null, pausedUntil: null, lastSuccessAt: at })
    lane.width = Math.min(lane.width * 2, maxWidth)
    goOn(lane, row, chain)
    return { result, standBack: [], recovered, disable: undefined }
  }
  lane.failures++
  lane.failingSince ??= at
  lane.lastFailureAt = at
  lane.width = 1
  lane.pausedUntil = pauseAfter(lane.failures, now) ?? null
  const disable =
    status === 410 ? 'gone' : now.getTime() - lane.failingSince.getTime() >= giveUpAfterMs ? 'failing' : undefined
  const again = nextAttempt({
    attempts: row.attempts + 1,
    firstAttemptAt: row.firstAttemptAt ?? at,
    now,
    retryAfterMs: outcome.retryAfterMs,
  })
  result.state = again ? 'waiting' : 'failed'
  result.nextAttemptAt = again ?? null
  let standBack: Settled['standBack'] = []
  if (again) {
    standBack = chain.slice(1).map(later => ({ ...key, eventId: later.eventId, until: again }))
    lane.chains.delete(row.objectId)
  } else goOn(lane, row, chain)
  if (lane.pausedUntil || disable) close(lane)
  return { result, standBack, recovered: false, disable }
}

/** This delivery is over, one way or the other; the next of its object may start. */
function goOn(lane: Lane, row: DueRow, chain: DueRow[]): void {
  chain.shift()
  if (chain.length === 0) lane.chains.delete(row.objectId)
  else if (lane.open) lane.ready.push(row.objectId)
}

/** The results of an attempt are in the database. */
export function written(lane: Lane, { result, standBack }: Settled): void {
  lane.unwritten--
  lane.held.delete(result.eventId)
  for (const later of standBack) lane.held.delete(later.eventId)
}

export function close(lane: Lane): void {
  lane.open = false
  lane.ready = []
}

/** Nothing is under way and nothing is left to start: it may be given back. */
export const isOver = (lane: Lane): boolean =>
  lane.running === 0 && lane.unwritten === 0 && (!lane.open || (lane.drained && lane.held.size === 0))

export const healthOf = (lane: Lane): HealthRow => ({
  businessId: lane.businessId,
  endpointId: lane.endpointId,
  failures: lane.failures,
  failingSince: lane.failingSince,
  pausedUntil: lane.pausedUntil,
  lastSuccessAt: lane.lastSuccessAt,
  lastFailureAt: lane.lastFailureAt,
})
