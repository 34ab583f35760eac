import { hostname } from 'node:os'
import type { Db } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Batch, Item } from './batch.ts'
import { classify } from './classify.ts'
import type { CompiledMessage } from './compile-message.ts'
import { createSigner, type Signer } from './dkim.ts'
import { createMxGroups } from './mx-groups.ts'
import type { Outcomes, Present } from './outcomes.ts'
import type { SendContext } from './send-context.ts'
import { createServerQueue, type QueueSettings, type ServerQueue } from './server-queue.ts'
import * as servers from './store-servers.ts'

/**
 * Which server takes a message. A server named by the caller is the only one; otherwise the default comes first and the
 * others in order when it is broken (the breaker is open) or refuses us. A business without any has the outbox.
 */
export interface Routing {
  dispatch(send: SendContext, items: readonly Item[], toOutbox: () => Promise<void>): Promise<void>
  /** lets go of what still waits of a halted batch */
  release(batch: Batch): void
  tellsDelivery(businessId: string, serverId: string | null): boolean
  stop(timeoutMs: number): Promise<void>
}

const serversFreshMs = 2_000
const breaker = { baseMs: 30_000, maxMs: 15 * 60_000 }

/** How far a provider is slowed when it says "too much", by what it says; the last rule is for all others. */
const slowRules: readonly { words: RegExp; perMinute: number; forMs: number }[] = [
  { words: /\bTSS?0[349]\b/i, perMinute: 1, forMs: 2 * 3_600_000 },
  { words: /reputation|temporarily deferred/i, perMinute: 1, forMs: 90 * 60_000 },
  { words: /./, perMinute: 30, forMs: 10 * 60_000 },
]

export function createRouting(platform: Platform, db: Db, outcomes: Outcomes, { now, hasTestClock }: Present): Routing {
  const queues = new Map<string, ServerQueue>()
  const known = new Map<string, { at: number; rows: servers.ServerRow[]; sends: Set<string> }>()
  const signers = new Map<string, Signer>()
  const mx = createMxGroups()
  let stopping = false

  /** Looked up anew for each send: its owner may have added or changed a server a moment before. */
  const serversOf = async (businessId: string, sendId: string): Promise<servers.ServerRow[]> => {
    const cached = known.get(businessId)
    if (cached?.sends.has(sendId) && Date.now() - cached.at < serversFreshMs) return cached.rows
    const at = Date.now()
    const rows = await servers.serversOf(db, businessId)
    if (known.size > 10_000) known.clear()
    const sends = cached && cached.sends.size < 1_000 ? cached.sends : new Set<string>()
    known.set(businessId, { at, rows, sends: sends.add(sendId) })
    return rows
  }

  const candidatesFor = async (send: SendContext) => {
    const rows = await serversOf(send.businessId, send.row.id)
    const named = send.row.deliveryServerId
    return { rows: named ? rows.filter(row => row.id === named) : rows, named }
  }
  const isOpen = (row: servers.ServerRow) => row.openUntil === null || row.openUntil.getTime() <= Date.now()

  const settingsOf = (businessId: string, row: servers.ServerRow): QueueSettings => ({
    serverId: row.id,
    smtp: {
      host: row.host,
      port: row.port,
      security: row.security,
      username: row.username,
      password:
        row.sealedPassword === ''
          ? ''
          : platform.secrets.decrypt(row.sealedPassword, `email_delivery_server:${businessId}:${row.id}`),
      clientName: platform.config.mailDomain === 'localhost' ? hostname() : platform.config.mailDomain,
    },
    maxConnections: row.maxConnections,
    maxPerSecond: row.maxPerSecond,
    sign: signerOf(businessId, row),
  })

  const signerOf = (businessId: string, row: servers.ServerRow): Signer | undefined => {
    if (!row.sealedKey || !row.dkimDomain || !row.dkimSelector) return undefined
    let signer = signers.get(row.sealedKey)
    if (!signer) {
      const privateKey = platform.secrets.decrypt(row.sealedKey, `email_dkim:${businessId}:${row.id}`)
      signer = createSigner({ domain: row.dkimDomain, selector: row.dkimSelector, privateKey })
      signers.set(row.sealedKey, signer)
    }
    return signer
  }

  const queueOf = (businessId: string, row: servers.ServerRow): ServerQueue => {
    const server = `${businessId}:${row.id}:`
    // Another address or login is another queue: open connections of the old one lead to where it was.
    const key = `${server}${row.host}:${row.port}:${row.security}:${row.username}:${row.sealedPassword}`
    const settings = settingsOf(businessId, row)
    const found = queues.get(key)
    if (found) {
      found.update(settings)
      return found
    }
    for (const [old, idle] of queues) if (old.startsWith(server) && idle.idle) queues.delete(old)
    const queue = createServerQueue(settings, {
      platform,
      outcomes,
      now,
      onBroken: (error, jobs) =>
        void broken(businessId, row.id, error, jobs).catch(failure => {
          platform.log.error({ err: failure }, 'a broken server could not be noted')
          for (const { item } of jobs) void outcomes.putOff(item, soon(businessId), unreachable(error))
        }),
      onHealthy: () => {
        if (known.get(businessId)?.rows.find(one => one.id === row.id)?.openUntil)
          void servers.closeServer(db, businessId, row.id).catch(() => {})
      },
      onRefused: (item, message, outcome) => refused(row.id, item, message, outcome),
      takeTurns: async (count, perSecond) =>
        (await servers.takeTurns(db, businessId, { serverId: row.id, provider: '', count, perSecond }))?.first,
    })
    if (stopping) void queue.stop(0)
    queues.set(key, queue)
    return queue
  }

  const soon = (businessId: string, ms = 60_000) => new Date(now(businessId).getTime() + ms)
  const unreachable = (error: string) => ({
    class: 'network' as const,
    reply: error ? `no delivery server is reachable: ${error}` : 'no delivery server is reachable',
  })
  const notReached = (error: string) => ({
    reply: { code: 0, text: unreachable(error).reply },
    stage: 'MAIL' as const,
    class: 'network' as const,
    retry: true,
  })

  const broken = async (
    businessId: string,
    serverId: string,
    error: string,
    jobs: { item: Item; message: CompiledMessage }[],
  ) => {
    platform.log.warn({ businessId, serverId, error }, 'delivery server is broken; its breaker opens')
    await servers.openServer(db, businessId, { serverId, error: error.slice(0, 500), ...breaker })
    known.delete(businessId)
    for (const [send, items] of bySend(jobs.map(job => job.item))) await toServer(send, items, error)
  }

  /** To the first server that may be used; where none is, off until the breaker lets one be tried again. */
  const toServer = async (send: SendContext, items: readonly Item[], error = ''): Promise<void> => {
    const { rows, named } = await candidatesFor(send)
    if (rows.length === 0) {
      const text = named
        ? 'the delivery server named for this send was deleted'
        : 'the last delivery server was deleted'
      for (const item of items)
        void outcomes.refused(item, {
          reply: { code: 0, text },
          stage: 'MAIL',
          serverId: named,
          class: 'policy',
          retry: false,
        })
      return
    }
    const groups = new Map<servers.ServerRow | undefined, Item[]>()
    for (const item of items) {
      const row = rows.find(one => isOpen(one) && !item.avoid?.has(one.id))
      addTo(groups, row, item)
    }
    for (const [row, own] of groups) {
      if (row) await paced(send, row, own)
      // The breaker goes by the world's clock, which hardly moves while a test clock is advanced over days.
      else if (hasTestClock(send.businessId))
        for (const item of own) void outcomes.refused(item, { ...notReached(error), serverId: named })
      else {
        const waitMs = Math.max(5_000, ...rows.map(one => (one.openUntil?.getTime() ?? 0) - Date.now()))
        for (const item of own) void outcomes.putOff(item, soon(send.businessId, waitMs), unreachable(error))
      }
    }
  }

  /** Providers that asked for less get their turns at the pace all workers share; whose turn is far off is put off. */
  const paced = async (send: SendContext, row: servers.ServerRow, items: readonly Item[]): Promise<void> => {
    const slow = (await servers.slowProviders(db, send.businessId)).filter(one => one.serverId === row.id)
    const go: Item[] = []
    const waiting = new Map<servers.SlowProvider, Item[]>()
    // Asked for only where somebody has to be slow: then it matters who hosts a domain.
    const groups = slow.length > 0 ? await Promise.all(items.map(item => mx.groupOf(item.person.email))) : []
    for (const [i, item] of items.entries()) {
      const pace = slow.find(one => one.provider === groups[i])
      if (pace) addTo(waiting, pace, item)
      else go.push(item)
    }
    for (const [pace, own] of waiting) {
      const perSecond = pace.perMinute / 60
      const turns = { serverId: row.id, provider: pace.provider, count: own.length, perSecond }
      const start = (await servers.takeTurns(db, send.businessId, turns))?.first.getTime() ?? Date.now()
      for (const [i, item] of own.entries()) {
        const waitMs = start + (i * 1_000) / perSecond - Date.now()
        if (waitMs <= 1_000) go.push(item)
        else
          void outcomes.putOff(item, soon(send.businessId, waitMs), {
            class: 'rate',
            reply: `${pace.provider} asked us to slow down`,
          })
      }
    }
    if (go.length > 0) queueOf(send.businessId, row).push(go, await send.messageFor(row))
  }

  const refused = async (
    serverId: string,
    item: Item,
    _message: CompiledMessage,
    { reply, stage }: { reply: { code: number; text: string }; stage: 'MAIL' | 'RCPT' | 'DATA' | 'end' },
  ): Promise<void> => {
    const verdict = classify(reply, stage)
    const { businessId } = item.batch
    if (verdict.class === 'rate') {
      const rule = slowRules.find(one => one.words.test(reply.text)) ?? { perMinute: 30, forMs: 600_000 }
      const pace = { serverId, provider: await mx.groupOf(item.person.email), reason: reply.text.slice(0, 500) }
      await servers.slowDown(db, businessId, { ...pace, perMinute: rule.perMinute, forMs: rule.forMs }).catch(() => {})
    }
    if (verdict.class === 'block' || verdict.class === 'policy') {
      item.avoid ??= new Set()
      item.avoid.add(serverId)
      const { rows } = await candidatesFor(item.send)
      if (rows.some(row => isOpen(row) && !item.avoid?.has(row.id))) return toServer(item.send, [item], reply.text)
    }
    await outcomes.refused(item, { reply, stage, serverId })
  }

  return {
    async dispatch(send, items, toOutbox) {
      const { rows, named } = await candidatesFor(send)
      if (rows.length === 0 && !named) await toOutbox()
      else await toServer(send, items)
    },
    release(batch) {
      for (const [key, queue] of queues) if (key.startsWith(`${batch.businessId}:`)) queue.sweep()
    },
    tellsDelivery: (businessId, serverId) =>
      known.get(businessId)?.rows.find(row => row.id === serverId)?.provider != null,
    async stop(timeoutMs) {
      stopping = true
      await Promise.all([...queues.values()].map(queue => queue.stop(timeoutMs)))
    },
  }
}

function bySend(items: readonly Item[]): Map<SendContext, Item[]> {
  const groups = new Map<SendContext, Item[]>()
  for (const item of items) addTo(groups, item.send, item)
  return groups
}

function addTo<K>(groups: Map<K, Item[]>, key: K, item: Item): void {
  const known = groups.get(key)
  if (known) known.push(item)
  else groups.set(key, [item])
}
