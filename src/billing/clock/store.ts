import { type Db, first, only } from '../../platform/database.ts'

/** The earliest moment at which anything of this business is due. What waits for an open payment is not due. */
export const nextDue = (db: Db, businessId: string) =>
  db<{ at: Date | null }[]>`
  select least(
    (select next_billing_at from billing_subscription subscription
      where business_id = ${businessId} and next_billing_at is not null
        and not exists (select 1 from billing_change change where change.business_id = ${businessId}
          and change.subscription_id = subscription.id and change.state = 'open')
      order by next_billing_at limit 1),
    (select charge_at from billing_invoice where business_id = ${businessId} and charge_at is not null
      order by charge_at limit 1),
    (select due_at + interval '1 millisecond' from billing_invoice invoice
      where business_id = ${businessId} and status = 'sent' and charge_at is null and not carried
        and not exists (select 1 from billing_transaction payment where payment.business_id = ${businessId}
          and payment.invoice_id = invoice.id and payment.type = 'payment'
          and payment.state in ('created', 'pending', 'unknown', 'action_required'))
      order by due_at limit 1),
    (select check_at from billing_transaction where business_id = ${businessId} and check_at is not null
      order by check_at limit 1),
    (select remind_at from billing_subscription where business_id = ${businessId} and remind_at is not null
      order by remind_at limit 1)
  ) as at`.then(rows => only(rows).at ?? undefined)

export interface OverdueInvoice {
  id: string
  subscriptionId: string
}

export const overdueInvoices = (db: Db, businessId: string, now: Date, limit: number) => db<OverdueInvoice[]>`
  select id, subscription_id as "subscriptionId" from billing_invoice invoice
  where business_id = ${businessId} and status = 'sent' and charge_at is null and not carried and due_at < ${now}
    and not exists (select 1 from billing_transaction payment where payment.business_id = ${businessId}
      and payment.invoice_id = invoice.id and payment.type = 'payment'
      and payment.state in ('created', 'pending', 'unknown', 'action_required'))
  order by due_at limit ${limit}`

export const chargeableInvoices = (db: Db, businessId: string, now: Date, limit: number) => db<OverdueInvoice[]>`
  select id, subscription_id as "subscriptionId" from billing_invoice
  where business_id = ${businessId} and charge_at <= ${now} order by charge_at, id limit ${limit}`

/** When a business is to be looked at; earlier wins. Most calls find it said already and write nothing. */
export const noteDue = (db: Db, businessId: string, at: Date) => db`
  insert into billing_due (business_id, due_at)
  select ${businessId}, ${at}
  where not exists (select 1 from billing_due where business_id = ${businessId} and due_at <= ${at})
  on conflict (business_id) do update set due_at = excluded.due_at where billing_due.due_at > excluded.due_at`

/** Takes one business that is due, and promises to look again within the hour whatever happens. */
export const takeDue = (db: Db) =>
  db<{ businessId: string }[]>`
  update billing_due set due_at = now() + interval '1 hour'
  where business_id = (select business_id from billing_due where due_at <= now() order by due_at limit 1 for update skip locked)
  returning business_id as "businessId"`.then(first)

export const ensureDue = (db: Db, businessId: string) => db`
  insert into billing_due (business_id, due_at) values (${businessId}, now() + interval '1 hour')
  on conflict (business_id) do nothing`
