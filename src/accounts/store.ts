import type { Business } from '../platform/business.ts'
import { type Db, first, only, type Tx } from '../platform/database.ts'
import type { KeyService } from './keys.ts'

export interface UserRow {
  id: string
  email: string
  profile: Record<string, string>
  createdAt: Date
  updatedAt: Date
}

export interface BusinessRow extends Business {
  settings: Record<string, unknown>
  createdAt: Date
  updatedAt: Date
}

export interface KeyRow {
  id: string
  service: KeyService
  name: string
  hint: string
  readOnly: boolean
  createdAt: Date
  revokedAt: Date | null
}

export interface KeyCaller {
  keyId: string
  service: KeyService
  readOnly: boolean
  keyHash: Buffer
  secretHash: Buffer | null
  business: Business
}

const userColumns = (db: Db) => db`id, email, profile, created_at as "createdAt", updated_at as "updatedAt"`
const businessColumns = (db: Db) => db`
  id, user_id as "userId", name, time_zone as "timeZone", currency, test_mode as "testMode", settings,
  created_at as "createdAt", updated_at as "updatedAt"`
const keyColumns = (db: Db) => db`
  id, service, name, hint, read_only as "readOnly", created_at as "createdAt", revoked_at as "revokedAt"`

export const upsertUser = (db: Db, user: { id: string; email: string; profile: object }) =>
  db<UserRow[]>`
  insert into account_user (id, email, profile) values (${user.id}, ${user.email}, ${db.json(user.profile as never)})
  on conflict (lower(email)) do update set email = account_user.email
  returning ${userColumns(db)}`.then(only)

export const userById = (db: Db, id: string) =>
  db<UserRow[]>`select ${userColumns(db)} from account_user where id = ${id}`.then(first)

export const updateUserProfile = (db: Db, id: string, profile: object) =>
  db<UserRow[]>`
  update account_user set profile = profile || ${db.json(profile as never)}, updated_at = now() where id = ${id}
  returning ${userColumns(db)}`.then(first)

export const insertBusiness = (db: Db, business: Business) =>
  db<BusinessRow[]>`
  insert into account_business (id, user_id, name, time_zone, currency, test_mode)
  values (${business.id}, ${business.userId}, ${business.name}, ${business.timeZone}, ${business.currency}, ${business.testMode})
  returning ${businessColumns(db)}`.then(only)

export const businessById = (db: Db, id: string) =>
  db<BusinessRow[]>`
  select ${businessColumns(db)} from account_business where id = ${id}`.then(first)

export const businessesOf = (db: Db, userId: string) => db<BusinessRow[]>`
  select ${businessColumns(db)} from account_business where user_id = ${userId} order by id`

export const hasBusinesses = (db: Db) =>
  db<{ exists: boolean }[]>`select exists (select 1 from account_business) as exists`.then(rows => only(rows).exists)

export const updateBusiness = (
  db: Db,
  id: string,
  changes: { name?: string; timeZone?: string; currency?: string; settings?: object },
) =>
  db<BusinessRow[]>`
  update account_business
  set name = coalesce(${changes.name ?? null}, name), time_zone = coalesce(${changes.timeZone ?? null}, time_zone),
      currency = coalesce(${changes.currency ?? null}, currency),
      settings = settings || ${db.json((changes.settings ?? {}) as never)}, updated_at = now()
  where id = ${id} returning ${businessColumns(db)}`.then(first)

export const setClock = (db: Db, businessId: string, now: Date) => db`
  update account_business set clock_now = ${now} where id = ${businessId}`

/** For as long as the transaction lasts, however long it has nothing to say. */
export const tryLockClock = (tx: Tx, businessId: string) =>
  tx<{ locked: boolean }[]>`
  select set_config('idle_in_transaction_session_timeout', '0', true),
    pg_try_advisory_xact_lock(hashtextextended(${`account_clock ${businessId}`}, 0)) as locked`.then(
    rows => only(rows).locked,
  )

export const clockIsSet = (db: Db, businessId: string) =>
  db<{ set: boolean }[]>`
  select clock_now is not null as set from account_business where id = ${businessId}`.then(rows => only(rows).set)

export const insertKey = (
  db: Db,
  businessId: string,
  key: {
    id: string
    service: KeyService
    name: string
    readOnly: boolean
    keyHash: Buffer
    secretHash: Buffer | null
    hint: string
  },
) => db`
  insert into account_key (business_id, id, service, name, key_hash, secret_hash, hint, read_only)
  values (${businessId}, ${key.id}, ${key.service}, ${key.name}, ${key.keyHash}, ${key.secretHash}, ${key.hint}, ${key.readOnly})`

export const keysOf = (db: Db, businessId: string) => db<KeyRow[]>`
  select ${keyColumns(db)} from account_key where business_id = ${businessId} order by id`

export const revokeKey = (db: Db, businessId: string, id: string) =>
  db<KeyRow[]>`
  update account_key set revoked_at = coalesce(revoked_at, now()) where business_id = ${businessId} and id = ${id}
  returning ${keyColumns(db)}`.then(first)

export const callerByKeyHash = (db: Db, keyHash: Buffer) =>
  db<KeyCaller[]>`
  select key.id as "keyId", key.service, key.read_only as "readOnly", key.key_hash as "keyHash", key.secret_hash as "secretHash",
    json_build_object('id', business.id, 'userId', business.user_id, 'name', business.name, 'timeZone', business.time_zone,
      'currency', business.currency, 'testMode', business.test_mode) as business
  from account_key key join account_business business on business.id = key.business_id
  where key.key_hash = ${keyHash} and key.revoked_at is null`.then(first)

export const allBusinessIds = (db: Db) =>
  db<{ id: string }[]>`select id from account_business order by id`.then(rows => rows.map(row => row.id))

/** What the database says of itself, for the doctor. */
export const describeDatabase = (db: Db) =>
  db<
    { version: string; now: Date }[]
  >`select current_setting('server_version') as version, clock_timestamp() as now`.then(only)

/** Which of these keys still open the door. */
export const validKeyHashes = (db: Db, keyHashes: readonly Buffer[]) =>
  db<{ keyHash: Buffer }[]>`
  select key_hash as "keyHash" from account_key
  where key_hash = any(${[...new Set(keyHashes.map(hash => hash.toString('hex')))].map(hex => `\\x${hex}`)}::text[]::bytea[])
    and revoked_at is null`.then(rows => rows.map(row => row.keyHash))
