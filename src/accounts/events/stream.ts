import { Readable } from 'node:stream'
import type { Database } from '../../platform/database.ts'
import { pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { tooMany } from '../../platform/problem.ts'
import { validKeyHashes } from '../store.ts'
import { type FeedEvent, toFeedEvent } from './feed.ts'
import { publish } from './publish.ts'
import * as store from './store.ts'

/**
 * Live streams of this process (server-sent events). One ticker serves them all: it looks where the feeds of the
 * businesses that are listened to end, and reads only those that moved, once for all streams that stand at the same place.
 * So a thousand quiet streams cost three queries a tick, not a thousand.
 *
 * A stream whose reader is slow is left alone until it reads again; it then goes on from where it stands.
 */
const tickMs = 250
const heartbeatMs = 15_000
const revocationMs = 500
const pageSize = 200
/** Spec silent: a limit on everything; more readers than this read one stream and share it. */
const streamsPerBusiness = 100

interface Stream {
  businessId: string
  keyHash: Buffer
  types: ReadonlySet<string> | undefined
  position: bigint
  /** the reader's buffer has room */
  wants: boolean
  body: Readable
}

export interface EventStreams {
  open(
    platform: Platform,
    options: {
      businessId: string
      keyHash: Buffer
      after: bigint | undefined
      types: readonly string[] | undefined
    },
  ): Promise<Readable>
}

export function createEventStreams(): EventStreams {
  const streams = new Set<Stream>()
  let ticking = false

  async function keepTicking(platform: Platform): Promise<void> {
    if (ticking) return
    ticking = true
    const last = { heartbeat: performance.now(), revocation: 0 }
    while (streams.size > 0) {
      const now = performance.now()
      if (now - last.heartbeat >= heartbeatMs) {
        last.heartbeat = now
        for (const stream of streams) send(stream, ': still here\n\n')
      }
      try {
        if (now - last.revocation >= revocationMs) {
          last.revocation = now
          await endRevoked(platform.db, streams)
        }
        if (!(await serve(platform.db, streams))) await pause(tickMs)
      } catch (error) {
        platform.log.warn({ err: error }, 'event streams could not be served; trying again')
        await pause(1_000)
      }
    }
    ticking = false
  }

  return {
    async open(platform, { businessId, keyHash, after, types }) {
      const open = [...streams].filter(stream => stream.businessId === businessId).length
      if (open >= streamsPerBusiness)
        throw tooMany('too_many_streams', `${streamsPerBusiness} streams are open already; close one first.`, 5)
      const position = after ?? (await endOfFeed(platform.db, businessId))
      const body = new Readable({
        highWaterMark: 65_536,
        read() {
          stream.wants = true
        },
        destroy(error, done) {
          streams.delete(stream)
          done(error)
        },
      })
      const stream: Stream = {
        businessId,
        keyHash,
        types: types && new Set(types),
        position,
        wants: true,
        body,
      }
      send(stream, 'retry: 2000\n\n')
      streams.add(stream)
      void keepTicking(platform)
      return body
    },
  }
}

async function endOfFeed(db: Database, businessId: string): Promise<bigint> {
  await publish(db, [businessId], new Date())
  return (await store.lastPositions(db, [businessId]))[0]?.lastPosition ?? 0n
}

function send(stream: Stream, text: string): void {
  if (!stream.body.destroyed) stream.wants = stream.body.push(text)
}

/** A revoked key must stop within a second, also where it already listens. */
async function endRevoked(db: Database, streams: Set<Stream>): Promise<void> {
  const valid = new Set(
    (
      await validKeyHashes(
        db,
        [...streams].map(stream => stream.keyHash),
      )
    ).map(asText),
  )
  for (const stream of streams) if (!valid.has(asText(stream.keyHash))) stream.body.push(null)
}
const asText = (hash: Buffer) => hash.toString('latin1')

/** Brings every stream that can take it forward by a page; answers whether some stand behind still. */
async function serve(db: Database, streams: Set<Stream>): Promise<boolean> {
  const businessIds = [...new Set([...streams].map(stream => stream.businessId))]
  await publish(db, businessIds, new Date())
  const ends = new Map(
    (await store.lastPositions(db, businessIds)).map(row => [row.businessId, row.lastPosition] as const),
  )
  const behind = [...streams].filter(
    stream => stream.wants && stream.position < (ends.get(stream.businessId) ?? 0n) && !stream.body.destroyed,
  )
  for (const group of Map.groupBy(behind, stream => `${stream.businessId} ${stream.position}`).values()) {
    const { businessId, position } = group[0]!
    const rows = await store.eventsAfter(db, businessId, { after: position, limit: pageSize })
    // Purged events leave a hole at the beginning of the feed; a stream that stands in it steps over it.
    const reached = rows.at(-1)?.position ?? ends.get(businessId) ?? position
    const lines = rows.map(row => [row.type, toLine(toFeedEvent(row))] as const)
    for (const stream of group) {
      stream.position = reached
      const text = lines.filter(([type]) => stream.types?.has(type) ?? true).map(([, line]) => line)
      if (text.length > 0) send(stream, text.join(''))
    }
  }
  return behind.some(stream => stream.position < (ends.get(stream.businessId) ?? 0n))
}

const toLine = (event: FeedEvent) =>
  `id: ${event.cursor}\nevent: ${event.event_type}\ndata: ${JSON.stringify(event)}\n\n`
