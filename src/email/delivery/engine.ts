import { setMaxListeners } from 'node:events'
import { isPassing, type Pool } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { type Batch, type Item, leave, makeBatch, rangeOf, sendIdsOf } from './batch.ts'
import { captureInOutbox } from './capture.ts'
import type { deferralMs } from './defer.ts'
import { campaign, type Lane, lanes } from './lanes.ts'
import { createOutcomes, type Outcomes } from './outcomes.ts'
import { createResultLog } from './result-log.ts'
import { createRouting, type Routing } from './routing.ts'
import { createSendContexts, type SendContext } from './send-context.ts'
import { sendIdOf } from './send-id.ts'
import { type Counting, settleBlock, settleDeferrals } from './settle.ts'
import * as store from './store-work.ts'

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
  let parts: { outcomes: Outcomes; routing: Routing; contexts: ReturnType<typeof createSendContexts> } | undefined

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
      await dispatch(batch)
      await batch.ended
    } catch (error) {
      batch.halted = true
      log.error({ err: error, businessId: batch.businessId }, 'a batch could not be sent; it is tried again')
      // A fault that stays must not become a loop that eats the machine.
      await pause(isPassing(error) ? 200 : 5_000)
    } finally {
      await finish(batch).catch(error => log.warn({ err: error }, 'a batch could not be counted yet'))
      open.delete(batch)
    }
  }

  const dispatch = async (batch: Batch): Promise<void> => {
    const { outcomes, routing, contexts } = machinery()
    const sends = new Map<string, SendContext>()
    for (const id of sendIdsOf(batch)) {
      const context = await contexts.get(batch.businessId, id)
      if (context) sends.set(id, context)
    }
    const people = batch.block
      ? await store.peopleOfBlock(db(), batch.businessId, { ...batch.block, ...rangeOf(batch.block) })
      : await store.peopleDeferred(db(), batch.businessId, batch.deferrals)
    const deferrals = new Map(batch.deferrals.map(one => [one.deliveryId, one]))
    const items = people.flatMap((person): Item[] => {
      const send = sends.get(sendIdOf(person.deliveryId))
      const deferral = deferrals.get(person.deliveryId)
      if (!send) return []
      return [
        {
          batch,
          send,
          person,
          attempts: deferral?.attempts ?? 0,
          expiresAt: deferral?.expiresAt,
          pushbacks: 0,
          avoid: undefined,
        },
      ]
    })
    batch.left = items.length
    if (items.length === 0) return batch.end()
    const mailable: Item[] = []
    for (const item of items) {
      // Not awaited one by one: they share a commit.
      if (item.send.row.state === 'cancelled') void outcomes.cancelled(item).catch(() => leave(item))
      else {
        const why = whyNotToMail(item)
        if (why) void outcomes.excluded(item, why).catch(() => leave(item))
        else mailable.push(item)
      }
    }
    for (const send of sends.values()) {
      const own = mailable.filter(item => item.send === send)
      if (own.length > 0)
        await routing.dispatch(send, own, () => captureInOutbox(platform, db(), outcomes, send, own, now))
    }
  }

  const finish = async (batch: Batch): Promise<void> => {
    const counting: Counting = {
      workerId,
      now: now(batch.businessId),
      tellsDelivery: serverId => machinery().routing.tellsDelivery(batch.businessId, serverId),
    }
    if (!batch.block) {
      await settleDeferrals(db(), batch, counting)
      const deliveryIds = batch.deferrals.map(one => one.deliveryId)
      await store.releaseDeferrals(db(), batch.businessId, { workerId, deliveryIds })
    } else if (!(await settleBlock(db(), batch, counting))) {
      await store.releaseBlock(db(), batch.businessId, { workerId, ...batch.block })
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

/** Who opted out, was deleted or is known not to exist since the audience was frozen. */
function whyNotToMail({ person, send }: Item): string | undefined {
  if (person.suppression && !(send.isSystem && person.suppression === 'unsubscribed'))
    return `suppressed: ${person.suppression}`
  if (person.deleted) return 'the subscriber was deleted'
  if (send.row.lane === campaign && person.status !== null && person.status !== 'subscribed')
    return `the subscriber is ${person.status}`
  return undefined
}

function shuffled<T>(list: readonly T[]): T[] {
  const copy = [...list]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[copy[i], copy[j]] = [copy[j] as T, copy[i] as T]
  }
  return copy
}
