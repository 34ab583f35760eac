import { beginWithRetry, type Database, isPassing } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import { pause } from '../../platform/jobs.ts'
import type { Outbound } from '../../platform/outbound.ts'
import type { Platform } from '../../platform/platform.ts'
import {
  close,
  healthOf,
  isOver,
  type Lane,
  newLane,
  next,
  roomOf,
  type Settled,
  settle,
  take,
  written,
} from './deliver-lane.ts'
import { send } from './send.ts'
import { bodyOf } from './sign.ts'
import * as endpointStore from './store.ts'
import * as store from './store-work.ts'
import { targetOf } from './webhooks.ts'

/**
 * Sends deliveries. Any number of processes do it at once: each takes endpoints by lease, and while it holds one it
 * alone sends to it, which keeps the order of each object without a lock or a write for every delivery. A process that dies lets
 * its leases run out; what it had sent but not written down is sent again, with the same id.
 *
 * Everything is read and written in batches for all endpoints together, once a round; requests run on between rounds.
 * Endpoints that fail have room of their own, so that however many are dead, the others are served.
 */
const leaseSeconds = 15
const extendEveryMs = 4_000
const idleMs = 200
/** a lane that waits for a slow answer looks this often whether there is something for other objects */
const lookAgainMs = 500
const maxHealthy = 1_000
const maxFailing = 256
const claimAtOnce = 250
const claimEveryMs = 50
const maxRunning = 4_000
const writeAtOnce = 500

export interface DelivererParts {
  db: Database
  outbound: Outbound
  platform: Pick<Platform, 'secrets' | 'metrics' | 'log'>
  /** the world's time, unless a test moves it */
  now?: () => Date
  /** of one attempt, to its last byte; 10 s unless a test is in a hurry */
  timeoutMs?: number
}

export interface Deliverer {
  /** Delivers until the signal comes, then finishes what is under way. */
  run(signal: AbortSignal): Promise<void>
  /** Delivers what is due now and returns when nothing is left. */
  settle(): Promise<void>
  /** Something may have become due: look now. */
  wake(): void
}

export function createDeliverer(parts: DelivererParts): Deliverer {
  const { db, outbound, platform, timeoutMs } = parts
  const now = parts.now ?? (() => new Date())
  const leaseId = newId()
  const lanes = new Map<string, Lane>()
  let settled: (Settled & { lane: Lane })[] = []
  let running = 0
  let extendedAt = performance.now()
  let claimedAt = 0
  let wakeUp = () => {}
  const wake = () => wakeUp()
  const outcomes = platform.metrics.counter('pennypost_webhook_deliveries_total', 'Webhook attempts, by outcome', [
    'outcome',
  ])

  function start(lane: Lane): void {
    while (running < maxRunning || lane.running === 0) {
      const row = lane.target && next(lane)
      if (!row) return
      running++
      void attempt(lane, row)
    }
  }

  async function attempt(lane: Lane, row: store.DueRow): Promise<void> {
    const { eventId, type, source, dataText, createdAt } = row
    // The purge spares what is waited for, so this is the end of a delivery whose event someone removed by hand.
    const outcome =
      !lane.target || source === null || dataText === null || createdAt === null
        ? goneEvent(now())
        : await send(
            outbound,
            lane.target,
            { id: eventId, body: bodyOf({ type, source, dataText, createdAt }) },
            { at: now(), timeoutMs },
          )
    running--
    outcomes.inc({ outcome: outcome.succeeded ? 'delivered' : 'failed' })
    if (lane.lost) lane.running--
    else settled.push({ ...settle(lane, row, outcome, now()), lane })
    start(lane)
    wake()
  }

  /** Results first: an endpoint is given back only after they are written. */
  async function writeDown(): Promise<void> {
    while (settled.length > 0) {
      const batch = settled.slice(0, writeAtOnce)
      const back = batch.flatMap(one => one.standBack)
      const recovered = batch.filter(one => one.recovered)
      const results = batch.map(one => one.result)
      if (back.length === 0 && recovered.length === 0) await store.writeResults(db, results)
      else
        await beginWithRetry(db, async tx => {
          await store.writeResults(tx, results)
          if (back.length > 0) await store.standBack(tx, back)
          for (const { result } of recovered) await store.hurryWaiting(tx, result, now())
        })
      for (const { result, disable } of batch)
        if (disable) await disableAndTell(db, result, { reason: disable, now: now() })
      settled = settled.slice(batch.length)
      for (const one of batch) written(one.lane, one)
    }
  }

  async function claim(): Promise<number> {
    const failing = [...lanes.values()].filter(lane => lane.failures > 0).length
    const rooms = [
      { failing: false, limit: Math.min(claimAtOnce, maxHealthy - (lanes.size - failing)) },
      { failing: true, limit: Math.min(claimAtOnce, maxFailing - failing) },
    ]
    let claimed = 0
    // While results pour in, rounds follow each other closely; looking for endpoints in each of them gains nothing.
    if (lanes.size > 0 && performance.now() - claimedAt < claimEveryMs) return 0
    claimedAt = performance.now()
    for (const room of rooms) {
      if (room.limit <= 0) continue
      const rows = await store.claimDue(db, { ...room, leaseId, leaseSeconds, now: now() })
      // One that is here already ran out of its lease and is ours again; its lane goes on.
      for (const row of rows) if (!lanes.has(laneName(row))) lanes.set(laneName(row), newLane(row))
      claimed += rows.length
    }
    return claimed
  }

  async function refill(): Promise<void> {
    const at = performance.now()
    const hungry = [...lanes.values()].filter(
      lane =>
        lane.open &&
        roomOf(lane) > 0 &&
        (lane.drained ? lane.held.size > 0 && at - lane.lookedAt > lookAgainMs : roomOf(lane) > lane.held.size),
    )
    if (hungry.length === 0) return
    const endpoints = new Map(
      (await store.enabledEndpoints(db, hungry)).map(row => [laneName({ ...row, endpointId: row.id }), row] as const),
    )
    for (const lane of hungry) {
      const endpoint = endpoints.get(laneName(lane))
      if (endpoint) lane.target = targetOf(platform.secrets, endpoint, now())
      else close(lane)
    }
    const asked = hungry
      .filter(lane => lane.open)
      .map(lane => ({ businessId: lane.businessId, endpointId: lane.endpointId, room: roomOf(lane), lane }))
      .filter(({ room }) => room > 0)
    const held = asked.flatMap(({ lane }) => [...lane.held])
    const rows = await store.dueDeliveries(db, asked, { now: now(), held })
    const found = Map.groupBy(rows, laneName)
    const back: Settled['standBack'] = []
    for (const { lane, room } of asked) {
      const due = found.get(laneName(lane)) ?? []
      lane.drained = due.length < room
      lane.lookedAt = at
      for (const row of due) if (!take(lane, row)) back.push(standBackOf(row, now()))
      start(lane)
    }
    if (back.length > 0) await store.standBack(db, back)
  }

  async function giveBack(all: boolean): Promise<void> {
    const over = [...lanes.values()].filter(lane => isOver(lane) || (all && lane.running === 0 && lane.unwritten === 0))
    const ours = over.filter(lane => !lane.lost)
    if (ours.length > 0)
      await beginWithRetry(db, async tx => {
        await store.lockWork(tx, ours, leaseId)
        await store.writeHealth(tx, ours.map(healthOf), { leaseId, release: true })
      })
    for (const lane of over) lanes.delete(laneName(lane))
  }

  async function keepLeases(): Promise<void> {
    if (lanes.size === 0 || performance.now() - extendedAt < extendEveryMs) return
    extendedAt = performance.now()
    const ours = new Set((await store.extendLeases(db, { leaseId, leaseSeconds })).map(laneName))
    for (const [name, lane] of lanes) {
      if (ours.has(name)) continue
      lane.lost = true
      close(lane)
    }
    const changed = [...lanes.values()].filter(lane => lane.healthChanged && !lane.lost)
    if (changed.length === 0) return
    await beginWithRetry(db, async tx => {
      await store.lockWork(tx, changed, leaseId)
      await store.writeHealth(tx, changed.map(healthOf), { leaseId, release: false })
    })
    for (const lane of changed) lane.healthChanged = false
  }

  /** Answers whether there was anything to do. */
  async function round(): Promise<boolean> {
    await keepLeases()
    await writeDown()
    const claimed = await claim()
    await refill()
    await giveBack(false)
    return claimed > 0 || lanes.size > 0
  }

  /** Until something is settled or woken up, or the time is over. */
  async function rest(ms: number): Promise<void> {
    if (settled.length > 0) return
    const stop = new AbortController()
    wakeUp = () => stop.abort()
    await pause(ms, stop.signal)
    wakeUp = () => {}
  }

  async function finish(): Promise<void> {
    for (const lane of lanes.values()) close(lane)
    while (running > 0) {
      await rest(idleMs)
      await writeDown()
    }
    await writeDown()
    await giveBack(true)
  }

  return {
    wake,
    async run(signal) {
      signal.addEventListener('abort', wake)
      while (!signal.aborted) {
        try {
          await round()
          await rest(idleMs)
        } catch (error) {
          // Results not written yet are kept, and written when the database is back.
          if (!isPassing(error)) platform.log.error({ err: error }, 'webhook deliveries failed; trying again')
          await pause(500, signal)
        }
      }
      await finish()
    },
    async settle() {
      while (await round()) await rest(20)
    },
  }
}

const laneName = ({ businessId, endpointId }: store.EndpointKey): string => `${businessId} ${endpointId}`

const standBackOf = (row: store.DueRow, now: Date) => ({
  businessId: row.businessId,
  endpointId: row.endpointId,
  eventId: row.eventId,
  until: new Date(Math.max(row.previousAt?.getTime() ?? 0, now.getTime() + 1)),
})

const goneEvent = (at: Date) => ({
  succeeded: false,
  at,
  durationMs: 0,
  status: null,
  answer: null,
  error: 'The event is no longer kept.',
  retryAfterMs: 0,
})

/** The mark on the endpoint and the event that tells the owner are one. */
export function disableAndTell(
  db: Database,
  { businessId, endpointId }: store.EndpointKey,
  options: { reason: endpointStore.DisabledReason; now: Date },
): Promise<void> {
  return db.begin(async tx => {
    if (!(await endpointStore.disableEndpoint(tx, businessId, endpointId, options))) return
    const endpoint = await endpointStore.endpointById(tx, businessId, endpointId)
    if (!endpoint) return
    const { id, url, description } = endpoint
    await emit(tx, {
      businessId,
      type: 'webhook_disabled',
      source: 'scheduler',
      objectId: id,
      data: { id, url, description, reason: options.reason },
      at: options.now,
    })
  })
}
