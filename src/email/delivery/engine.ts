import { setMaxListeners } from 'node:events'
import { isPassing, type Pool } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { type Batch, makeBatch } from './batch.ts'
import type { deferralMs } from './defer.ts'
import { type Lane, lanes } from './lanes.ts'
import { createOutcomes } from './outcomes.ts'
import { createResultLog } from './result-log.ts'
import { createRouting } from './routing.ts'
import { createSendContexts } from './send-context.ts'
import * as store from './store-work.ts'
import { dispatchBatch, finishBatch, type Machinery } from './work-batch.ts'

export interface EngineOptions {
  /** a claim that is not renewed for this long is another worker's to take */
  leaseMs?: number
  pollMs?: number
  /** how long a stop waits for replies that are still out */
  drainMs?: number
  deferMs?: typeof deferralMs
}

/**
 * Takes what is queued to the receiving servers. Any number of engines may run over one database: they share nothing
 * but claims. Checkpoint after the result: a batch is done only when each of its people has a committed result.
 */
export interface Engine {
  /** works until the signal comes, then lets open messages finish */
  run(signal: AbortSignal): Promise<void>
  /** works off what one business has due now, and returns when nothing is left; answers how many batches it took */
  drain(businessId: string): Promise<number>
}

const openBatchesPerBusiness = 4
const openBatches = 64
const mostDeferrals = 500

export function createEngine(platform: Platform, options: EngineOptions = {}): Engine {
  const { leaseMs = 15_000, pollMs = 1_000, drainMs = 4_000 } = options
  const { log } = platform
  const workerId = newId()
  let pool: Pool | undefined
  // Results have a connection of their own: nothing may stand between a reply and its commit.
  let resultsPool: Pool | undefined
  const clocks = new Map<string, Date>()
  const now = (businessId: string) => clocks.get(businessId) ?? new Date()
  const open = new Set<Batch>()
  let parts: Machinery | undefined

  const db = () => {
    pool ??= platform.connect({ name: 'sending', max: 6 })
    return pool as unknown as Platform['db'] & Pool
  }
  const machinery = () => {
    if (parts) return parts
    resultsPool = platform.connect({ name: 'results', max: 4 })
    const results = createResultLog(resultsPool as unknown as Platform['db'], log)
    const present = { now, hasTestClock: (businessId: string) => clocks.has(businessId) }
    const outcomes = createOutcomes({ results, ...present, ...(options.deferMs && { deferMs: options.deferMs }) })
    parts = {
      platform,
      db: db(),
      workerId,
      now,
      outcomes,
      routing: createRouting(platform, db(), outcomes, present),
      contexts: createSendContexts(db(), platform),
    }
    return parts
  }

  const claim = async (businessId: string, lane: Lane): Promise<Batch | undefined> => {
    const leaseUntil = Date.now() + leaseMs
    const block = await store.claimBlock(db(), businessId, { lane, workerId, leaseMs })
    if (block) return makeBatch({ businessId, lane, block }, leaseUntil)
    const present = await learnTime(businessId)
    const deferrals = await store.claimDeferrals(db(), businessId, {
      lane,
      workerId,
      leaseMs,
      limit: mostDeferrals,
      now: present,
    })
    return deferrals.length > 0 ? makeBatch({ businessId, lane, deferrals }, leaseUntil) : undefined
  }

  /** A business in test mode lives by a clock of its own. */
  const learnTime = async (businessId: string): Promise<Date> => {
    const business = await store.businessTime(db(), businessId)
    if (business?.now) clocks.set(businessId, business.now)
    else clocks.delete(businessId)
    return now(businessId)
  }

  const work = async (batch: Batch): Promise<void> => {
    open.add(batch)
    try {
      await learnTime(batch.businessId)
      await dispatchBatch(machinery(), batch)
      await batch.ended
    } catch (error) {
      batch.halted = true
      log.error({ err: error, businessId: batch.businessId }, 'a batch could not be sent; it is tried again')
      // A fault that stays must not become a loop that eats the machine.
      await pause(isPassing(error) ? 200 : 5_000)
    } finally {
      await finishBatch(machinery(), batch).catch(error => log.warn({ err: error }, 'a batch could not be counted yet'))
      open.delete(batch)
    }
  }

  /** Renews the claims of all open batches, and halts those that were paused, cancelled or lost. */
  const beat = async (): Promise<void> => {
    for (const businessId of new Set([...open].map(batch => batch.businessId))) {
      const own = [...open].filter(batch => batch.businessId === businessId)
      const leaseUntil = Date.now() + leaseMs
      const blocks = own.filter(batch => batch.block)
      const states = await store.extendBlocks(db(), businessId, {
        workerId,
        leaseMs,
        sendIds: blocks.map(batch => batch.block!.sendId),
        firsts: blocks.map(batch => batch.block!.first),
      })
      const stateOf = new Map(states.map(row => [`${row.sendId}:${row.first}`, row.state]))
      for (const batch of blocks) renew(batch, stateOf.get(`${batch.block!.sendId}:${batch.block!.first}`), leaseUntil)
      for (const batch of own.filter(one => !one.block)) {
        const deliveryIds = batch.deferrals.map(one => one.deliveryId)
        const rows = await store.extendDeferrals(db(), businessId, { workerId, leaseMs, deliveryIds })
        renew(batch, rows.some(row => row.state !== 'sending') ? 'paused' : 'sending', leaseUntil)
      }
    }
  }

  const renew = (batch: Batch, state: string | undefined, leaseUntil: number) => {
    if (state !== undefined) batch.leaseUntil = leaseUntil
    // A batch that was claimed as cancelled goes on; one that is cancelled while it runs is given back and claimed anew.
    if (state === undefined || state === 'paused' || state === 'cancelled') batch.halted = true
    if (batch.halted) machinery().routing.release(batch)
  }

  const takeLane = async (lane: Lane, businesses: readonly string[]): Promise<number> => {
    let taken = 0
    for (const businessId of businesses) {
      const own = [...open].filter(batch => batch.businessId === businessId && batch.lane === lane).length
      for (let i = own; i < openBatchesPerBusiness && open.size < openBatches * (lane === 0 ? 2 : 1); i++) {
        const batch = await claim(businessId, lane)
        if (!batch) break
        taken++
        void work(batch).then(() => wakeLane[lane]?.())
      }
    }
    return taken
  }

  const wakeLane: ((() => void) | undefined)[] = []

  const runLane = async (lane: Lane, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      let woken = false
      const woke = new Promise<void>(resolve => {
        wakeLane[lane] = () => {
          woken = true
          resolve()
        }
      })
      try {
        const due = await store.dueBusinesses(db())
        const taken = await takeLane(lane, shuffled(due.map(row => row.businessId)))
        if (taken === 0 && lane === 1)
          for (const row of due) await store.forgetBusiness(db(), row.businessId, row.version)
      } catch (error) {
        if (!isPassing(error)) throw error
      }
      if (!woken) await Promise.race([woke, pause(pollMs, signal)])
    }
  }

  return {
    async run(signal) {
      setMaxListeners(0, signal)
      machinery()
      const listening = await db()
        .listen('email_due', () => {
          for (const wake of wakeLane) wake?.()
        })
        .catch(() => undefined)
      const beating = new AbortController()
      const heart = (async () => {
        while (!beating.signal.aborted) {
          await pause(leaseMs / 5, beating.signal)
          await beat().catch(error => log.warn({ err: error }, 'claims could not be renewed'))
        }
      })()
      try {
        await Promise.all(lanes.map(lane => runLane(lane, signal)))
      } finally {
        await machinery().routing.stop(drainMs)
        for (const batch of open) batch.halted = true
        while (open.size > 0) await pause(5)
        beating.abort()
        await heart
        await listening?.unlisten().catch(() => {})
        await closePools()
      }
    },
    async drain(businessId) {
      let taken = 0
      try {
        for (;;) {
          const batches: Batch[] = []
          for (const lane of lanes)
            for (
              let batch = await claim(businessId, lane);
              batch;
              batch = batches.length < 8 ? await claim(businessId, lane) : undefined
            )
              batches.push(batch)
          if (batches.length === 0) return taken
          taken += batches.length
          await Promise.all(batches.map(work))
        }
      } finally {
        await parts?.routing.stop(drainMs)
        await closePools()
      }
    },
  }

  async function closePools() {
    parts = undefined
    await Promise.all([pool?.end({ timeout: 5 }), resultsPool?.end({ timeout: 5 })])
    pool = undefined
    resultsPool = undefined
  }
}

function shuffled<T>(list: readonly T[]): T[] {
  const copy = [...list]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[copy[i], copy[j]] = [copy[j] as T, copy[i] as T]
  }
  return copy
}
