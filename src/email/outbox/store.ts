import { type Db, first, only } from '../../platform/database.ts'

export interface OutboxEntry {
  deliveryId: string
  email: string
  subject: string
  at: Date
}

export const newest = (db: Db, businessId: string, page: { limit: number; offset: number }) => db<OutboxEntry[]>`
  select delivery_id as "deliveryId", email, subject, at from email_outbox where business_id = ${businessId}
  order by at desc, delivery_id desc limit ${page.limit} offset ${page.offset}`

export const count = (db: Db, businessId: string) =>
  db<{ count: number }[]>`select count(*)::int as count from email_outbox where business_id = ${businessId}`.then(
    rows => only(rows).count,
  )

export const messageOf = (db: Db, businessId: string, deliveryId: string) =>
  db<(OutboxEntry & { envelopeFrom: string; message: Buffer })[]>`
    select delivery_id as "deliveryId", email, subject, at, envelope_from as "envelopeFrom", message from email_outbox
    where business_id = ${businessId} and delivery_id = ${deliveryId}`.then(first)
