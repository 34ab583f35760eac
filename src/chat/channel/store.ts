import { type Db, first } from '../../platform/database.ts'

export interface NewWebhook {
  id: string
  body: Buffer
  receivedAt: Date
  notBefore: Date
}

export const insertWebhooks = (db: Db, businessId: string, webhooks: readonly NewWebhook[]) => db`
  insert into chat_webhook (business_id, id, body, received_at, not_before)
  select ${businessId}, x.id, decode(x.body, 'base64'), x.received_at, x.not_before
  from unnest(${webhooks.map(webhook => webhook.id)}::text[], ${webhooks.map(webhook => webhook.body.toString('base64'))}::text[],
    ${webhooks.map(webhook => webhook.receivedAt.toISOString())}::timestamptz[],
    ${webhooks.map(webhook => webhook.notBefore.toISOString())}::timestamptz[]) as x (id, body, received_at, not_before)`

/** Businesses with news that wait, each with the moment it lives in. */
export const businessesWithNews = (db: Db, limit: number) => db<{ businessId: string; now: Date }[]>`
  select waiting.business_id as "businessId", coalesce(business.clock_now, now()) as now
  from (select business_id, min(not_before) as not_before from chat_webhook where processed_at is null group by business_id) waiting
  join account_business business on business.id = waiting.business_id
  where waiting.not_before <= coalesce(business.clock_now, now())
  order by waiting.not_before limit ${limit}`

export const nextNews = (db: Db, businessId: string) =>
  db<{ at: Date }[]>`
  select not_before as at from chat_webhook where business_id = ${businessId} and processed_at is null
  order by not_before limit 1`.then(rows => first(rows)?.at)

/** True when nobody else works through this business's news; ends with the transaction. */
export const tryLockNews = (db: Db, businessId: string) =>
  db<{ locked: boolean }[]>`
  select pg_try_advisory_xact_lock(hashtextextended(${`chat-news:${businessId}`}, 0)) as locked`.then(
    rows => rows[0]?.locked === true,
  )

export const lockNews = (db: Db, businessId: string) => db`
  select pg_advisory_xact_lock(hashtextextended(${`chat-news:${businessId}`}, 0))`

const maxBatchBytes = 8_000_000

/** The oldest that wait, as many as fit into memory comfortably. */
export const waitingNews = (db: Db, businessId: string, { now, limit }: { now: Date; limit: number }) => db<
  { id: string; body: Buffer }[]
>`
  select id, body from (
    select id, body, not_before, sum(octet_length(body)) over (order by not_before, id) - octet_length(body) as before
    from (select id, body, not_before from chat_webhook
          where business_id = ${businessId} and processed_at is null and not_before <= ${now}
          order by not_before, id limit ${limit}) oldest) sized
  where before < ${maxBatchBytes} order by not_before, id`

export const markProcessed = (
  db: Db,
  businessId: string,
  { ids, now, problems }: { ids: string[]; now: Date; problems: { id: string; problems: object[] }[] },
) => db`
  update chat_webhook
  set processed_at = ${now},
      problems = (select x.problems from jsonb_to_recordset(${db.json(problems as never)}::jsonb) as x (id text, problems jsonb)
                  where x.id = chat_webhook.id)
  where business_id = ${businessId} and id = any(${ids})`

/** True the first time this key is seen. */
export const firstTimeSeen = (db: Db, businessId: string, key: string, now: Date) =>
  db`
  insert into chat_webhook_seen (business_id, key, at) values (${businessId}, ${key}, ${now})
  on conflict do nothing returning 1`.then(rows => rows.length > 0)

export const parkStatuses = (
  db: Db,
  businessId: string,
  statuses: readonly { platformId: string; status: string; element: object }[],
  now: Date,
) => db`
  insert into chat_parked_status (business_id, platform_id, status, element, at)
  select ${businessId}, x."platformId", x.status, x.element, ${now}
  from jsonb_to_recordset(${db.json(statuses as never)}::jsonb) as x ("platformId" text, status text, element jsonb)
  on conflict do nothing`

/** Parked statuses whose message is known by now. */
export const takeParked = (db: Db, businessId: string, platformId: string) => db<{ element: object }[]>`
  delete from chat_parked_status where business_id = ${businessId} and platform_id = ${platformId} returning element`

export const matchedParked = (db: Db) => db<{ businessId: string; platformId: string }[]>`
  select distinct parked.business_id as "businessId", parked.platform_id as "platformId"
  from chat_parked_status parked
  join chat_message message on message.business_id = parked.business_id and message.platform_id = parked.platform_id
    and message.direction = 'out'
  limit 1000`

/** Raw news is kept for a season, to look things up; what only guards against repeats is kept as long. */
export async function purgeNews(db: Db, businessId: string, days: number): Promise<void> {
  await db`
    delete from chat_webhook where business_id = ${businessId} and received_at < now() - ${days} * interval '1 day'
      and processed_at is not null`
  await db`delete from chat_webhook_seen where business_id = ${businessId} and at < now() - ${days} * interval '1 day'`
  await db`delete from chat_parked_status where business_id = ${businessId} and at < now() - ${days} * interval '1 day'`
}
