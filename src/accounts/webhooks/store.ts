import { type Db, first, only, type Tx } from '../../platform/database.ts'

export interface EndpointRow {
  businessId: string
  id: string
  url: string
  types: string[]
  description: string
  secret: string
  previousSecret: string | null
  previousSecretUntil: Date | null
  username: string | null
  password: string | null
  state: 'enabled' | 'disabled'
  disabledReason: DisabledReason | null
  disabledAt: Date | null
  failingSince: Date | null
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
  createdAt: Date
  updatedAt: Date
}
export type DisabledReason = 'owner' | 'failing' | 'gone'

const endpointColumns = (db: Db) => db`
  endpoint.business_id as "businessId", endpoint.id, endpoint.url, endpoint.types, endpoint.description, endpoint.secret,
  endpoint.previous_secret as "previousSecret", endpoint.previous_secret_until as "previousSecretUntil",
  endpoint.username, endpoint.password, endpoint.state, endpoint.disabled_reason as "disabledReason",
  endpoint.disabled_at as "disabledAt", work.failing_since as "failingSince", work.last_success_at as "lastSuccessAt",
  work.last_failure_at as "lastFailureAt", endpoint.created_at as "createdAt", endpoint.updated_at as "updatedAt"`

const endpoints = (db: Db) => db`
  account_webhook endpoint join account_webhook_work work
    on work.business_id = endpoint.business_id and work.endpoint_id = endpoint.id`

export const endpointsOf = (db: Db, businessId: string) => db<EndpointRow[]>`
  select ${endpointColumns(db)} from ${endpoints(db)} where endpoint.business_id = ${businessId} order by endpoint.id`

export const endpointById = (db: Db, businessId: string, id: string) =>
  db<EndpointRow[]>`
  select ${endpointColumns(db)} from ${endpoints(db)}
  where endpoint.business_id = ${businessId} and endpoint.id = ${id}`.then(first)

/** Makes counting and adding endpoints one at a time, so that the limit holds. */
export const lockEndpointsOf = (tx: Tx, businessId: string) => tx`
  select pg_advisory_xact_lock(hashtextextended(${`account_webhook ${businessId}`}, 0))`

export const countEndpoints = (db: Db, businessId: string) =>
  db<{ count: number }[]>`
  select count(*)::int as count from account_webhook where business_id = ${businessId}`.then(rows => only(rows).count)

export interface NewEndpointRow {
  id: string
  url: string
  types: readonly string[]
  description: string
  secret: string
  username: string | null
  password: string | null
}

export const insertEndpoint = (tx: Tx, businessId: string, endpoint: NewEndpointRow) => tx`
  with made as (
    insert into account_webhook (business_id, id, url, types, description, secret, username, password)
    values (${businessId}, ${endpoint.id}, ${endpoint.url}, ${endpoint.types}::text[], ${endpoint.description},
      ${endpoint.secret}, ${endpoint.username}, ${endpoint.password})
    returning business_id, id)
  insert into account_webhook_work (business_id, endpoint_id) select business_id, id from made`

export const updateEndpoint = (
  db: Db,
  businessId: string,
  id: string,
  changes: { url?: string; types?: readonly string[]; description?: string },
) => db`
  update account_webhook
  set url = coalesce(${changes.url ?? null}, url), types = coalesce(${changes.types ?? null}::text[], types),
      description = coalesce(${changes.description ?? null}, description), updated_at = now()
  where business_id = ${businessId} and id = ${id}`

export const setCredentials = (
  db: Db,
  businessId: string,
  id: string,
  credentials: { username: string | null; password: string | null },
) => db`
  update account_webhook set username = ${credentials.username}, password = ${credentials.password}
  where business_id = ${businessId} and id = ${id}`

export const rotateSecret = (
  db: Db,
  businessId: string,
  id: string,
  options: { secret: string; previousUntil: Date },
) => db`
  update account_webhook
  set previous_secret = secret, previous_secret_until = ${options.previousUntil}, secret = ${options.secret}, updated_at = now()
  where business_id = ${businessId} and id = ${id}`

export const deleteEndpoint = (db: Db, businessId: string, id: string) => db`
  delete from account_webhook where business_id = ${businessId} and id = ${id}`

/** Answers whether it was enabled until now. */
export const disableEndpoint = (
  tx: Tx,
  businessId: string,
  id: string,
  options: { reason: DisabledReason; now: Date },
) =>
  tx<{ id: string }[]>`
  with disabled as (
    update account_webhook
    set state = 'disabled', disabled_reason = ${options.reason}, disabled_at = ${options.now}, updated_at = now()
    where business_id = ${businessId} and id = ${id} and state = 'enabled' returning business_id, id
  ), quiet as (
    update account_webhook_work work set due_at = null from disabled
    where work.business_id = disabled.business_id and work.endpoint_id = disabled.id)
  select id from disabled`.then(rows => rows.length > 0)

/** What waited goes on at once, with three new days ahead of it. */
export async function enableEndpoint(tx: Tx, businessId: string, id: string, now: Date): Promise<void> {
  await tx`
    update account_webhook set state = 'enabled', disabled_reason = null, disabled_at = null, updated_at = now()
    where business_id = ${businessId} and id = ${id}`
  await tx`
    update account_webhook_delivery set next_attempt_at = ${now}, first_attempt_at = null
    where business_id = ${businessId} and endpoint_id = ${id} and state = 'waiting'`
  await tx`
    update account_webhook_work set failures = 0, failing_since = null, paused_until = null, due_at = ${now}
    where business_id = ${businessId} and endpoint_id = ${id}`
}
