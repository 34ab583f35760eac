import { type Db, first } from '../../platform/database.ts'

/** When the next deferral that nobody holds falls due; those of a paused send wait for it. */
export const nextDeferral = (db: Db, businessId: string) =>
  db<{ at: Date | null }[]>`
    select min(d.next_at) as at from email_deferral d
    join email_send s on s.business_id = d.business_id and s.id = left(d.delivery_id, 16) || '00000000'
    where d.business_id = ${businessId} and s.state = 'sending'
      and (d.claimed_until is null or d.claimed_until < now())`.then(rows => first(rows)?.at ?? undefined)

export const rememberBusinesses = (db: Db) => db`
  insert into email_due (business_id) select distinct business_id from email_send where completed_at is null
  on conflict do nothing`

export const hasOpenBlock = (db: Db, businessId: string) =>
  db`select 1 from email_block b join email_send s on s.business_id = b.business_id and s.id = b.send_id
    where b.business_id = ${businessId} and not b.done and s.state = 'sending' limit 1`.then(rows => rows.length > 0)

/** In the time that a business lives in: a test clock may be far from the world's. */
export const trimOutbox = (db: Db, { days }: { days: number }) => db`
  delete from email_outbox o using account_business b
  where b.id = o.business_id and o.at < coalesce(b.clock_now, now()) - ${days} * interval '1 day'`
