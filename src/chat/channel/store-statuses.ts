import type { Db } from '../../platform/database.ts'
import { type MessageRow, messageColumns } from '../messages/store.ts'

/**
 * Outgoing messages that reports may belong to, locked in one order. Their ids are gathered first, each by its index, so that
 * no plan made for a small business reads all messages of a large one.
 */
export const lockReported = (
  db: Db,
  businessId: string,
  { platformIds, ids }: { platformIds: string[]; ids: string[] },
) => db<MessageRow[]>`
  select ${messageColumns(db)} from chat_message
  where business_id = ${businessId} and direction = 'out' and id = any(array(
    select message.id from unnest(${platformIds}::text[]) as asked (platform_id) cross join lateral (
      select id from chat_message
      where business_id = ${businessId} and direction = 'out' and platform_id = asked.platform_id and platform_id is not null) message
    union select unnest(${ids}::text[])))
  order by id for update`

export const saveReported = (db: Db, businessId: string, messages: readonly MessageRow[], now: Date) => db`
  update chat_message
  set status = x.status, platform_id = x."platformId", sent_at = x."sentAt", delivered_at = x."deliveredAt",
      read_at = x."readAt", failed_at = x."failedAt", error = x.error, pricing = x.pricing, updated_at = ${now},
      lease_until = null
  from jsonb_to_recordset(${db.json(
    messages.map(({ id, status, platformId, sentAt, deliveredAt, readAt, failedAt, error, pricing }) => ({
      id,
      status,
      platformId,
      sentAt,
      deliveredAt,
      readAt,
      failedAt,
      error,
      pricing,
    })) as never,
  )}::jsonb) as x (id text, status text, "platformId" text, "sentAt" timestamptz, "deliveredAt" timestamptz,
    "readAt" timestamptz, "failedAt" timestamptz, error jsonb, pricing jsonb)
  where chat_message.business_id = ${businessId} and chat_message.id = x.id`
