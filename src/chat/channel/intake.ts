import type { Business } from '../../platform/business.ts'
import { beginWithRetry, type Database, isLostRace, type Tx } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { storable } from '../storable.ts'
import { businessById } from '../store.ts'
import { applyStatuses } from './apply-statuses.ts'
import { applyChange, type Change } from './changes.ts'
import { type Incoming, receiveMessage } from './incoming.ts'
import { readStatus, type StatusReport } from './statuses.ts'
import * as store from './store.ts'

/**
 * Works through what the platform told us, from the table it was written to. One element never hurts its neighbours:
 * a batch is applied as a whole, and where that fails, again with every element on its own; what cannot be applied is
 * kept with the reason beside the raw body.
 */
const batchRows = 500

/** Answers how many deliveries were worked through; where another process is at it, 0, unless it is waited for. */
export async function processNews(
  platform: Platform,
  db: Database,
  businessId: string,
  { now, wait = false }: { now: Date; wait?: boolean },
): Promise<number> {
  const business = await businessById(db, businessId)
  if (!business) return 0
  for (let done = 0; ; ) {
    const count = await processBatch(platform, db, business, { now, mode: 'together', wait }).catch(error => {
      platform.log.warn(
        { err: error, businessId },
        'a batch of channel news failed as a whole; each element is tried on its own',
      )
      return processBatch(platform, db, business, { now, mode: 'apart', wait })
    })
    done += count
    if (count === 0) return done
  }
}

interface Element {
  row: string
  raw: unknown
  status?: StatusReport
  incoming?: Incoming
  change?: Change
}

interface Problems {
  add(row: string, element: unknown, error: unknown): void
}

function processBatch(
  platform: Platform,
  db: Database,
  business: Business,
  { now, mode, wait }: { now: Date; mode: 'together' | 'apart'; wait: boolean },
): Promise<number> {
  return beginWithRetry(db, async tx => {
    if (wait) await store.lockNews(tx, business.id)
    else if (!(await store.tryLockNews(tx, business.id))) return 0
    const rows = await store.waitingNews(tx, business.id, { now, limit: batchRows })
    if (rows.length === 0) return 0
    const found = new Map<string, object[]>()
    const problems: Problems = {
      add: (row, element, error) =>
        void found.set(row, [
          ...(found.get(row) ?? []),
          { error: error instanceof Error ? error.message : String(error), element: storable(element) as object },
        ]),
    }
    const elements = rows.flatMap(row => readElements(row, problems))
    if (mode === 'together') await applyTogether(platform, tx, business, { elements, now })
    else await applyApart(platform, tx, business, { elements, now, problems })
    await store.markProcessed(tx, business.id, {
      ids: rows.map(row => row.id),
      now,
      problems: [...found].map(([id, list]) => ({ id, problems: list })),
    })
    return rows.length
  })
}

interface Work {
  elements: readonly Element[]
  now: Date
}

async function applyTogether(platform: Platform, tx: Tx, business: Business, { elements, now }: Work): Promise<void> {
  for (const { incoming } of elements) if (incoming) await receiveMessage(tx, business, incoming, now)
  for (const { change } of elements) if (change) await applyChange(platform, tx, business, change, now)
  await applyStatuses(
    platform,
    tx,
    business,
    elements.flatMap(element => element.status ?? []),
    now,
  )
}

async function applyApart(
  platform: Platform,
  tx: Tx,
  business: Business,
  { elements, now, problems }: Work & { problems: Problems },
): Promise<void> {
  for (const element of elements)
    await tx
      .savepoint(point => applyTogether(platform, point as unknown as Tx, business, { elements: [element], now }))
      .catch(error => {
        // A lost race says nothing of the element: it is tried again with its batch, not laid aside.
        if (isLostRace(error)) throw error
        problems.add(element.row, element.raw, error)
      })
}

/** Every entry, every change, every message and every status; what cannot be read is kept aside. */
function readElements(row: { id: string; body: Buffer }, problems: Problems): Element[] {
  const elements: Element[] = []
  const attempt = (raw: unknown, read: () => Omit<Element, 'row' | 'raw'>) => {
    try {
      elements.push({ row: row.id, raw, ...read() })
    } catch (error) {
      problems.add(row.id, raw, error)
    }
  }
  const body = parseBody(row, problems)
  for (const entry of list(body?.entry))
    for (const change of list(entry.changes)) {
      const value = object(change.value)
      const field = String(change.field ?? '')
      if (field !== 'messages') {
        for (const one of splitChange(field, change.value))
          attempt(one, () => ({ change: { field, value: object(one), entryTime: entry.time } }))
        continue
      }
      const profiles = list(value.contacts)
      for (const status of list(value.statuses)) attempt(status, () => ({ status: readStatus(status) }))
      for (const message of list(value.messages))
        attempt(message, () => ({ incoming: checkIncoming({ message, profile: profileOf(message, profiles) }) }))
    }
  return elements
}

/** Told apart early, so that one broken message does not send the whole batch the slow way. */
function checkIncoming(incoming: Incoming): Incoming {
  const { id, from, from_user_id: userId } = incoming.message
  if (typeof id !== 'string' || id === '') throw new Error('The message has no id.')
  if (!from && !userId && !incoming.profile) throw new Error('The message names no sender.')
  return incoming
}

/** Preferences come several in one change, sometimes wrapped in a field of their own name. */
function splitChange(field: string, value: unknown): unknown[] {
  if (field !== 'user_preferences') return [value]
  const inner = Array.isArray(value) ? value : (object(value).user_preferences ?? value)
  return Array.isArray(inner) ? inner : [inner]
}

function parseBody(row: { id: string; body: Buffer }, problems: Problems): Record<string, unknown> | undefined {
  try {
    const text = row.body.toString()
    const parsed = JSON.parse(text)
    // Escapes of what the database cannot keep are rare; only then is the whole body walked through.
    return object(/\\u0000|\\u[dD][89a-fA-F]/.test(text) ? storable(parsed) : parsed)
  } catch (error) {
    problems.add(row.id, null, error)
    return undefined
  }
}

const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
const list = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.map(object) : [])

const profileOf = (message: Record<string, unknown>, profiles: Record<string, unknown>[]) =>
  profiles.find(
    profile =>
      (message.from !== undefined && profile.wa_id === message.from) ||
      (message.from_user_id !== undefined && profile.user_id === message.from_user_id),
  ) ?? (profiles.length === 1 ? profiles[0] : undefined)
