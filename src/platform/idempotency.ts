import { type Database, type Db, first, nested } from './database.ts'
import { badRequest, conflict, Problem, unprocessable } from './problem.ts'

/**
 * A request with an `Idempotency-Key` is done once; repeating it answers the stored bytes.
 *
 * A key is `running` from its claim until its answer is stored, then `done`. For local acts the key's row stays locked
 * while the act runs and the answer commits together with the act: so a row that is `running` but not locked belongs
 * to a request that died and did nothing, and may be taken over at once. Acts that call another system can't hold a
 * transaction open, so theirs are guarded by a lease, and they recover from their own rows.
 */
export interface KeyedRequest {
  businessId: string
  method: string
  path: string
  key: string
  requestHash: Buffer
}

export interface StoredAnswer {
  status: number
  contentType: string
  body: string
}

const leaseSeconds = 90
/** Outcomes that happened, or may have happened, outside: they are answered again rather than tried again. */
const keptFailures = new Set([402, 504])

export function checkKey(key: string): string {
  if (key.length < 1 || key.length > 255)
    throw badRequest('idempotency_key_invalid', 'Idempotency-Key must have 1 to 255 characters.')
  return key
}

const inUse = () =>
  conflict('idempotency_key_in_use', 'A request with this Idempotency-Key is still running. Wait for its answer.')
const reused = () =>
  unprocessable('idempotency_key_reused', 'This Idempotency-Key was used with another request body. Use a new key.')

/** Runs the act and stores its answer in one transaction. */
export async function runLocalOnce(
  db: Database,
  request: KeyedRequest,
  act: (db: Database) => Promise<StoredAnswer>,
): Promise<StoredAnswer> {
  await claim(db, request, 0)
  try {
    return await db.begin(async tx => {
      const row = first(
        await tx<KeyRow[]>`
        select request_hash, state, status, content_type, body from idempotency_key
        where ${samePlace(tx, request)} for update skip locked`,
      )
      if (!row) throw inUse()
      if (row.state === 'done') return replay(row, request)
      const answer = await act(nested(tx))
      await storeAnswer(tx, request, answer)
      return answer
    })
  } catch (error) {
    await forget(db, request)
    throw error
  }
}

/** Runs an act with outside effects under a lease; failures that may have had effects are stored like successes. */
export async function runOutsideOnce(
  db: Database,
  request: KeyedRequest,
  act: (db: Database) => Promise<StoredAnswer>,
  renderFailure: (problem: Problem) => StoredAnswer,
): Promise<StoredAnswer> {
  if (!(await claim(db, request, leaseSeconds))) {
    const row = first(
      await db<KeyRow[]>`
      select request_hash, state, status, content_type, body from idempotency_key where ${samePlace(db, request)}`,
    )
    if (!row) throw inUse()
    if (row.state === 'done') return replay(row, request)
    if (!row.request_hash.equals(request.requestHash)) throw reused()
    const taken = await db`
      update idempotency_key set running_until = now() + ${leaseSeconds} * interval '1 second'
      where ${samePlace(db, request)} and state = 'running' and running_until < now()`
    if (taken.count === 0) throw inUse()
  }
  try {
    const answer = await act(db)
    await storeAnswer(db, request, answer)
    return answer
  } catch (error) {
    if (!(error instanceof Problem && keptFailures.has(error.status))) {
      await forget(db, request)
      throw error
    }
    const answer = renderFailure(error)
    await storeAnswer(db, request, answer)
    return answer
  }
}

/** Keys are kept for a day. */
export const purgeIdempotencyKeys = (db: Db) =>
  db`delete from idempotency_key where created_at < now() - interval '24 hours'`

interface KeyRow {
  request_hash: Buffer
  state: 'running' | 'done'
  status: number
  content_type: string
  body: string
}

const samePlace = (db: Db, { businessId, method, path, key }: KeyedRequest) =>
  db`business_id = ${businessId} and method = ${method} and path = ${path} and key = ${key}`

/**
 * True when the key is new (or its day is over) and now ours. Never waits for the request that holds it: `do update` would,
 * even where its condition fails, and enough waiting ones leave that request no connection to end with.
 */
async function claim(db: Db, request: KeyedRequest, lease: number): Promise<boolean> {
  const { businessId, method, path, key, requestHash } = request
  const fresh = await db`
    insert into idempotency_key (business_id, method, path, key, request_hash, state, running_until)
    values (${businessId}, ${method}, ${path}, ${key}, ${requestHash}, 'running', now() + ${lease} * interval '1 second')
    on conflict (business_id, method, path, key) do nothing returning 1`
  if (fresh.length > 0) return true
  const renewed = await db`
    update idempotency_key
    set request_hash = ${requestHash}, state = 'running', running_until = now() + ${lease} * interval '1 second',
        created_at = now(), status = null, content_type = null, body = null
    where ${samePlace(db, request)} and created_at < now() - interval '24 hours' returning 1`
  return renewed.length > 0
}

function replay(row: KeyRow, request: KeyedRequest): StoredAnswer {
  if (!row.request_hash.equals(request.requestHash)) throw reused()
  return { status: row.status, contentType: row.content_type, body: row.body }
}

const storeAnswer = (db: Db, request: KeyedRequest, answer: StoredAnswer) => db`
  update idempotency_key
  set state = 'done', request_hash = ${request.requestHash}, status = ${answer.status}, content_type = ${answer.contentType}, body = ${answer.body}
  where ${samePlace(db, request)}`

/** Nothing is kept of an act that failed, so that a corrected request may use the key. Skips a row that another holds. */
const forget = (db: Db, request: KeyedRequest) => db`
  delete from idempotency_key where ${samePlace(db, request)} and state = 'running'
    and exists (select 1 from idempotency_key where ${samePlace(db, request)} and state = 'running' for update skip locked)`
