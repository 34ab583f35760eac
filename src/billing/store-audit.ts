import type { Db } from '../platform/database.ts'

/** Statements that find what must not be; each answers a line of text a contradiction. */
type Found = { what: string }[]

export const unbalancedActs = (db: Db, businessId: string) => db<Found>`
  select source_key as what from billing_ledger where business_id = ${businessId}
    and receivable + gateway_cash + offline_cash + deferred + revenue + tax + customer_credit + refund_clearing + write_off <> 0
  limit 20`

export const wrongDues = (db: Db, businessId: string) => db<Found>`
  with paid as (
    select invoice_id, sum(amount) as amount from (
      select invoice_id, amount_minor - coalesce((select sum((part->>'amount')::int8) from jsonb_array_elements(carried) part), 0) as amount
      from billing_transaction where business_id = ${businessId} and type = 'payment' and state = 'succeeded'
      union all
      select part->>'invoiceId', (part->>'amount')::int8 from billing_transaction, jsonb_array_elements(carried) part
      where business_id = ${businessId} and type = 'payment' and state = 'succeeded'
    ) parts group by invoice_id
  )
  select id || ': due ' || due_minor || ', paid ' || paid_minor || ', received ' || coalesce(paid.amount, 0) as what
  from billing_invoice invoice left join paid on paid.invoice_id = invoice.id
  where business_id = ${businessId} and (
    due_minor < 0 or due_minor <> total_minor - paid_minor - credit_applied_minor - offset_minor - written_off_minor
    or paid_minor > coalesce(paid.amount, 0)
    or (status = 'paid' and due_minor <> 0) or (status in ('sent', 'overdue') and due_minor = 0))
  limit 20`

export const wrongReceivables = (db: Db, businessId: string) => db<Found>`
  with owed as (
    select customer_id, currency, sum(due_minor) as minor from billing_invoice
    where business_id = ${businessId} and number is not null group by 1, 2
  ), booked as (
    select customer_id, currency, sum(receivable) as minor from billing_ledger where business_id = ${businessId} group by 1, 2
  )
  select coalesce(owed.customer_id, booked.customer_id) || ': due ' || coalesce(owed.minor, 0) || ', ledger ' || coalesce(booked.minor, 0) as what
  from owed full join booked using (customer_id, currency)
  where coalesce(owed.minor, 0) <> coalesce(booked.minor, 0) limit 20`

export const wrongCredit = (db: Db, businessId: string) => db<Found>`
  with lots as (
    select subscription_id, sum(created_minor - used_minor) as minor,
      bool_or(used_minor < 0 or reserved_minor < 0 or used_minor + reserved_minor > created_minor) as wrong
    from billing_credit_lot where business_id = ${businessId} group by 1
  ), booked as (
    select subscription_id, -sum(customer_credit) as minor from billing_ledger where business_id = ${businessId} group by 1
  )
  select subscription_id || ': lots ' || coalesce(lots.minor, 0) || ', ledger ' || coalesce(booked.minor, 0) as what
  from lots full join booked using (subscription_id)
  where coalesce(lots.minor, 0) <> coalesce(booked.minor, 0) or lots.wrong limit 20`

export const wrongCreditUses = (db: Db, businessId: string) => db<Found>`
  with spent as (
    select lot_id, sum(amount_minor) as minor from billing_credit_use where business_id = ${businessId} group by 1
  ), applied as (
    select invoice_id, sum(amount_minor) as minor from billing_credit_use where business_id = ${businessId} group by 1
  )
  select 'lot ' || lot.id as what from billing_credit_lot lot left join spent on spent.lot_id = lot.id
  where lot.business_id = ${businessId} and lot.used_minor <> coalesce(spent.minor, 0)
  union all
  select 'invoice ' || invoice.id from billing_invoice invoice left join applied on applied.invoice_id = invoice.id
  where invoice.business_id = ${businessId} and invoice.number is not null
    and invoice.credit_applied_minor <> coalesce(applied.minor, 0)
  limit 20`

export const overRefunded = (db: Db, businessId: string) => db<Found>`
  select payment.id || ': captured ' || payment.amount_minor || ', refunded ' || coalesce(sum(refund.amount_minor), 0) as what
  from billing_transaction payment left join billing_transaction refund
    on refund.business_id = payment.business_id and refund.payment_id = payment.id
      and refund.type = 'refund' and refund.state not in ('failed', 'voided')
  where payment.business_id = ${businessId} and payment.type = 'payment'
  group by payment.business_id, payment.id
  having coalesce(sum(refund.amount_minor), 0) > payment.amount_minor
    or coalesce(sum(refund.amount_minor), 0) <> payment.refunded_minor + payment.refund_pending_minor
  limit 20`

export const overCredited = (db: Db, businessId: string) => db<Found>`
  select invoice_id || '/' || line_no as what from billing_invoice_line
  where business_id = ${businessId}
    and (credited_net_minor not between 0 and net_minor or credited_tax_minor not between 0 and tax_minor)
  limit 20`

export const doubleBilled = (db: Db, businessId: string) => db<Found>`
  with billed as (
    select subscription_id, count(*)::int as invoices, count(distinct period_no)::int as periods, max(period_no) as last
    from billing_invoice where business_id = ${businessId} and period_no is not null and number is not null
    group by subscription_id
  )
  select subscription.id || ': ' || coalesce(billed.invoices, 0) || ' invoices for ' || subscription.period_no || ' periods' as what
  from billing_subscription subscription left join billed on billed.subscription_id = subscription.id
  where subscription.business_id = ${businessId} and (coalesce(billed.invoices, 0) <> subscription.period_no
    or coalesce(billed.periods, 0) <> subscription.period_no or coalesce(billed.last, 0) <> subscription.period_no)
  limit 20`

/** A restart cuts the period before short; after a pause there may be a hole, on purpose. */
export const holesInTime = (db: Db, businessId: string) => db<Found>`
  select what from (
    select subscription_id || ' period ' || period_no as what, kind, period_start,
      lag(period_start) over same as before_start, lag(period_end) over same as before_end
    from billing_invoice where business_id = ${businessId} and period_no is not null and number is not null
    window same as (partition by subscription_id order by period_no)
  ) periods
  where before_end is not null and case kind
    when 'change' then period_start < before_start or period_start > before_end
    when 'resume' then period_start < before_end
    else period_start <> before_end end
  limit 20`

/** Numbers reserved for a batch that is being written, or that failed, are not missing. */
export const numberGaps = (db: Db, businessId: string) => db<Found>`
  with given as (
    select number as first, number as last from billing_invoice where business_id = ${businessId} and number is not null
    union all
    select first_number, last_number from billing_number_reserve where business_id = ${businessId}
  )
  select 'INV-' || first || ' after ' || before as what from (
    select first, lag(last, 1, 0::int8) over (order by first) as before from given
  ) numbers where first <> before + 1
  union all
  select 'counter ' || last_number || ', last ' || coalesce((select max(last) from given), 0)
  from billing_invoice_counter where business_id = ${businessId}
    and last_number <> coalesce((select max(last) from given), 0)
  limit 20`

export const overRedeemed = (db: Db, businessId: string) => db<Found>`
  select id || ': ' || used_redemption as what from billing_coupon
  where business_id = ${businessId} and maximum_redemption > 0 and used_redemption > maximum_redemption limit 20`

export const doubleCodes = (db: Db, businessId: string) => db<Found>`
  select subscription_id || ' has ' || count(*) as what from billing_license_code
  where business_id = ${businessId} and subscription_id is not null group by subscription_id having count(*) > 1 limit 20`

export const wrongCash = (db: Db, businessId: string) => db<Found>`
  with moved as (
    select gateway, sum(case type when 'payment' then amount_minor when 'refund' then -amount_minor end)
      filter (where type = 'payment' or refund_type <> 'refund_credit') as minor
    from billing_transaction where business_id = ${businessId} and state = 'succeeded' group by gateway
  ), booked as (
    select gateway, sum(gateway_cash + offline_cash) as minor from billing_ledger
    where business_id = ${businessId} and gateway is not null group by gateway
  )
  select gateway || ': moved ' || coalesce(moved.minor, 0) || ', ledger ' || coalesce(booked.minor, 0) as what
  from moved full join booked using (gateway) where coalesce(moved.minor, 0) <> coalesce(booked.minor, 0)
  union all
  select 'payment ' || id || ' is not in the ledger' from billing_transaction payment
  where business_id = ${businessId} and type = 'payment' and state = 'succeeded' and not exists (
    select 1 from billing_ledger where business_id = ${businessId} and source_key = 'payment:' || payment.id)
  limit 20`

/** The gateway keeps books of its own; what it took and we have not settled yet must still be open here. */
export const wrongTestCharges = (db: Db, businessId: string) => db<Found>`
  select charge.key || ' was taken, here it is ' || coalesce(payment.state, 'missing') as what
  from billing_test_charge charge left join billing_transaction payment on payment.business_id = charge.business_id
    and charge.key = ${businessId} || ':' || payment.id
  where charge.business_id = ${businessId} and charge.state = 'succeeded' and (payment.id is null
    or payment.amount_minor <> charge.amount_minor or payment.state in ('failed', 'voided'))
  union all
  select payment.id || ' succeeded here, but the gateway took nothing' from billing_transaction payment
  where payment.business_id = ${businessId} and payment.gateway = 'test' and payment.state = 'succeeded'
    and (payment.type = 'payment' or payment.refund_type = 'refund')
    and not exists (select 1 from billing_test_charge charge where charge.business_id = ${businessId}
      and charge.key = ${businessId} || ':' || payment.id and charge.state = 'succeeded')
  limit 20`

export const wrongTax = (db: Db, businessId: string) => db<Found>`
  with lines as (
    select invoice_id, sum(tax_minor) as tax, sum(net_minor) as net from billing_invoice_line
    where business_id = ${businessId} group by invoice_id
  )
  select invoice.id as what from billing_invoice invoice left join lines on lines.invoice_id = invoice.id
  where invoice.business_id = ${businessId} and (coalesce(lines.tax, 0) <> invoice.tax_minor
    or coalesce(lines.net, 0) <> invoice.net_minor or invoice.total_minor <> invoice.net_minor + invoice.tax_minor)
  limit 20`

export const wrongDeferred = (db: Db, businessId: string) => db<Found>`
  with booked as (
    select subscription_id as id, -sum(deferred) as minor from billing_ledger where business_id = ${businessId} group by 1
  )
  select subscription.id || ': keeps ' || subscription.deferred_minor || ', ledger ' || coalesce(booked.minor, 0) as what
  from billing_subscription subscription left join booked using (id)
  where subscription.business_id = ${businessId} and subscription.deferred_minor <> coalesce(booked.minor, 0) limit 20`

export const parked = (db: Db, businessId: string) => db<Found>`
  select id || ': ' || parked_error as what from billing_subscription
  where business_id = ${businessId} and parked_error is not null limit 20`
