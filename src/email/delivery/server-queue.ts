import type { Platform } from '../../platform/platform.ts'
import { type Item, leave, mayStart } from './batch.ts'
import type { CompiledMessage } from './compile-message.ts'
import type { Signer } from './dkim.ts'
import { createFeed, endDot, envelopeRoom, fillJob, type Job, type OutgoingJob } from './feed.ts'
import { individual } from './lanes.ts'
import type { Outcomes } from './outcomes.ts'
import { createSignAhead } from './sign-ahead.ts'
import { type Outcome, sendOver } from './smtp-client.ts'
import { SmtpRefused, type SmtpServer } from './smtp-connect.ts'

/** What waits for one server in this process, and the connections that take it there. */
export interface ServerQueue {
  push(items: readonly Item[], message: CompiledMessage): void
  /** settings may change while it runs */
  update(settings: QueueSettings): void
  /** lets go of what may not start any more */
  sweep(): void
  /** lets open messages finish; after the time given what is still open counts as unknown */
  stop(timeoutMs: number): Promise<void>
  readonly idle: boolean
}

export interface QueueSettings {
  serverId: string
  smtp: SmtpServer
  maxConnections: number
  maxPerSecond: number
  sign: Signer | undefined
}

export interface QueueHooks {
  platform: Pick<Platform, 'config' | 'secrets' | 'log'>
  outcomes: Outcomes
  now(businessId: string): Date
  /** the server can't be used; these are to go another way */
  onBroken(error: string, items: { item: Item; message: CompiledMessage }[]): void
  onHealthy(): void
  onRefused(item: Item, message: CompiledMessage, outcome: Extract<Outcome, { kind: 'replied' }>): Promise<void>
  takeTurns(count: number, perSecond: number): Promise<Date | undefined>
}

const messagesPerConnection = 1_000
const mostPushbacks = 8
const failuresToBreak = 5

export function createServerQueue(first: QueueSettings, hooks: QueueHooks): ServerQueue {
  let settings = first
  const lanes: [Job[], Job[]] = [[], []]
  let connections = 0
  let reservedConnections = 0
  let limit = settings.maxConnections
  let successes = 0
  let failures = 0
  let pausedUntil = 0
  let pauseMs = 0
  let stopping = false
  const waiters = new Set<() => void>()
  const abort = new AbortController()
  const turns: number[] = []
  let leasing = false

  const wake = () => {
    for (const waiter of waiters) waiter()
  }
  const ahead = createSignAhead<Job, OutgoingJob>({
    next: reserved => nextJob(reserved),
    async prepare(job) {
      const outgoing = fillJob(job, hooks, Buffer.alloc(0))
      const { sign } = settings
      if (!sign) return outgoing
      const header = await sign(outgoing.bytes.subarray(0, outgoing.bytes.length - endDot.length))
      const length = header.length + outgoing.bytes.length
      const bytes = Buffer.allocUnsafeSlow(length + envelopeRoom)
      bytes.write(header, 0, 'latin1')
      bytes.set(outgoing.bytes, header.length)
      return { ...outgoing, bytes: bytes.subarray(0, length), room: envelopeRoom }
    },
    onFailed: (job, error) => void back(job, `signing failed: ${error.message}`),
    onReady: () => {
      wake()
      open()
    },
  })
  const waitingCount = () => lanes[0].length + lanes[1].length
  const wakeAt = (time: number) => {
    const go = () => {
      wake()
      open()
    }
    // A timer may come a moment early; then nobody would look again.
    setTimeout(go, Math.max(1, Math.ceil(time - Date.now()) + 2)).unref()
  }

  /** The turn of a paced server comes from the database, because other processes send there too. */
  const mayGo = (): boolean => {
    if (settings.maxPerSecond <= 0) return true
    const now = Date.now()
    if ((turns[0] ?? Number.POSITIVE_INFINITY) <= now) return true
    if (turns[0] !== undefined) wakeAt(turns[0])
    else if (!leasing) void leaseTurns()
    return false
  }
  const leaseTurns = async () => {
    leasing = true
    const perSecond = settings.maxPerSecond
    const count = Math.max(1, Math.min(Math.ceil(perSecond / 5), waitingCount()))
    const start = await hooks.takeTurns(count, perSecond).catch(() => undefined)
    leasing = false
    if (start) for (let i = 0; i < count; i++) turns.push(start.getTime() + (i * 1_000) / perSecond)
    wakeAt(turns[0] ?? Date.now() + 500)
  }

  const nextJob = (reserved: boolean): Job | undefined => {
    for (const lane of reserved ? [lanes[0]] : lanes) {
      while (lane.length > 0) {
        const job = lane[0] as Job
        if (mayStart(job.item.batch)) {
          if (stopping || !mayGo()) return undefined
          if (settings.maxPerSecond > 0) turns.shift()
          lane.shift()
          return job
        }
        lane.shift()
        leave(job.item)
      }
    }
    return undefined
  }

  const back = (job: Job, why: string) => {
    job.item.pushbacks++
    if (job.item.pushbacks > mostPushbacks)
      return hooks.outcomes.refused(job.item, {
        reply: { code: 451, text: why },
        stage: 'MAIL',
        serverId: settings.serverId,
        class: 'network',
        retry: true,
      })
    lanes[job.item.batch.lane].unshift(job)
    return Promise.resolve()
  }

  const backOff = () => {
    pauseMs = Math.min(pauseMs === 0 ? 250 : pauseMs * 2, 30_000)
    pausedUntil = Date.now() + pauseMs * (0.75 + Math.random() / 2)
    limit = Math.max(1, Math.floor(limit * 0.7))
    successes = 0
    wakeAt(pausedUntil)
  }

  const settle = async (job: OutgoingJob, outcome: Outcome): Promise<void> => {
    const { serverId } = settings
    if (outcome.kind === 'unknown') return hooks.outcomes.unknown(job.item, { error: outcome.error, serverId })
    if (outcome.kind === 'untried') return back(job, outcome.error)
    if (outcome.reply.code < 400) {
      failures = 0
      pauseMs = 0
      if (++successes % 200 === 0 && limit < settings.maxConnections) limit++
      return hooks.outcomes.sent(job.item, { reply: outcome.reply, serverId })
    }
    // Refused before a recipient was named: it is the connection that is not wanted now.
    if (outcome.reply.code === 421 || (outcome.stage === 'MAIL' && outcome.reply.code < 500)) {
      backOff()
      return back(job, `${outcome.reply.code} ${outcome.reply.text}`)
    }
    return hooks.onRefused(job.item, job.message, outcome)
  }

  const broken = (error: Error) => {
    failures++
    backOff()
    if (failures < failuresToBreak) return
    failures = 0
    const jobs = [...lanes[0].splice(0), ...lanes[1].splice(0), ...ahead.giveBack()]
    hooks.onBroken(error.message, jobs)
  }

  const connection = async (reserved: boolean) => {
    const feed = createFeed({
      reserved,
      nextJob,
      ahead,
      settle,
      hooks,
      settings: () => settings,
      waiters,
      stopping: () => stopping,
    })
    try {
      await sendOver(settings.smtp, feed, {
        messagesPerConnection,
        signal: abort.signal,
        onOpen: () => hooks.onHealthy(),
      })
    } catch (error) {
      if (!stopping) {
        if (!(error instanceof SmtpRefused && error.reply.code === 421)) broken(error as Error)
        else backOff()
      }
    } finally {
      if (reserved) reservedConnections--
      else connections--
      open()
    }
  }

  /** As many connections as there is work for; some are kept free of campaigns. */
  const open = () => {
    if (stopping || Date.now() < pausedUntil) return
    const reserve = Math.min(2, settings.maxConnections - 1)
    const most = Math.max(1, Math.min(limit, settings.maxConnections) - reserve)
    if (settings.sign) ahead.pump()
    const work = waitingCount() + ahead.size
    while (connections < Math.min(most, work)) {
      connections++
      void connection(false)
    }
    while (reservedConnections < Math.min(reserve, lanes[individual].length)) {
      reservedConnections++
      void connection(true)
    }
  }

  return {
    push(items, message) {
      for (const item of items) lanes[item.batch.lane].push({ item, message })
      wake()
      open()
    },
    update(next) {
      if (next.maxConnections !== settings.maxConnections) limit = next.maxConnections
      settings = next
    },
    sweep() {
      for (const lane of lanes) {
        const gone = lane.filter(job => !mayStart(job.item.batch))
        if (gone.length === 0) continue
        lane.splice(0, lane.length, ...lane.filter(job => !gone.includes(job)))
        for (const job of gone) leave(job.item)
      }
      ahead.drop(false)
    },
    get idle() {
      return connections + reservedConnections + waitingCount() + ahead.size === 0
    },
    async stop(timeoutMs) {
      stopping = true
      for (const job of [...lanes[0].splice(0), ...lanes[1].splice(0)]) leave(job.item)
      ahead.drop(true)
      wake()
      const until = Date.now() + timeoutMs
      while (connections + reservedConnections > 0 && Date.now() < until)
        await new Promise(resolve => setTimeout(resolve, 10))
      abort.abort()
      for (const job of [...lanes[0].splice(0), ...lanes[1].splice(0)]) leave(job.item)
    },
  }
}
