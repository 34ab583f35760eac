import type { Db, Tx } from '../../platform/database.ts'
import { among } from '../store-among.ts'
import { column } from '../store-columns.ts'
import type { LedgerAct } from './ledger.ts'

/** A source that was posted before makes this fail: no act counts twice. */
export const insertActs = (tx: Tx, businessId: string, acts: readonly LedgerAct[]) => {
  const of = (name: 'sourceKey' | 'at' | 'customerId' | 'subscriptionId' | 'currency' | 'gateway') =>
    column(
      tx,
      name === 'at' ? 'timestamptz' : 'text',
      acts.map(act => act[name]),
    )
  const amounts = (name: keyof LedgerAct['accounts']) =>
    column(
      tx,
      'int8',
      acts.map(act => act.accounts[name] ?? 0n),
    )
  return tx`
    insert into billing_ledger (business_id, source_key, at, customer_id, subscription_id, currency, gateway,
      receivable, gateway_cash, offline_cash, deferred, revenue, tax, customer_credit, refund_clearing, write_off)
    select ${businessId}, * from unnest(${of('sourceKey')}, ${of('at')}, ${of('customerId')}, ${of('subscriptionId')},
      ${of('currency')}, ${of('gateway')}, ${amounts('receivable')}, ${amounts('gatewayCash')}, ${amounts('offlineCash')},
      ${amounts('deferred')}, ${amounts('revenue')}, ${amounts('tax')}, ${amounts('customerCredit')},
      ${amounts('refundClearing')}, ${amounts('writeOff')})`
}

export interface LotRow {
  id: string
  subscriptionId: string
  customerId: string
  currency: string
  sourceId: string
  createdMinor: bigint
  usedMinor: bigint
  reservedMinor: bigint
  createdAt: Date
}

const lotColumns = (db: Db) => db`
  id, subscription_id as "subscriptionId", customer_id as "customerId", currency, source_id as "sourceId",
  created_minor as "createdMinor", used_minor as "usedMinor", reserved_minor as "reservedMinor", created_at as "createdAt"`

/** Oldest first; locked, so that no two invoices spend one lot. */
export const lockOpenLots = (tx: Tx, businessId: string, subscriptionIds: readonly string[]) => tx<LotRow[]>`
  select ${lotColumns(tx)} from billing_credit_lot
  where business_id = ${businessId} and subscription_id ${among(tx, subscriptionIds)}
    and used_minor < created_minor
  order by id for update`

export const openLots = (db: Db, businessId: string, subscriptionIds: readonly string[]) => db<LotRow[]>`
  select ${lotColumns(db)} from billing_credit_lot
  where business_id = ${businessId} and subscription_id ${among(db, subscriptionIds)}
    and used_minor < created_minor
  order by id`

export const insertLots = (tx: Tx, businessId: string, lots: readonly LotRow[]) => tx`
  insert into billing_credit_lot (business_id, id, subscription_id, customer_id, currency, source_id, created_minor, used_minor,
    reserved_minor, created_at)
  select ${businessId}, * from unnest(${lots.map(lot => lot.id)}::text[], ${lots.map(lot => lot.subscriptionId)}::text[],
    ${lots.map(lot => lot.customerId)}::text[], ${lots.map(lot => lot.currency)}::text[], ${lots.map(lot => lot.sourceId)}::text[],
    ${lots.map(lot => String(lot.createdMinor))}::int8[], ${lots.map(lot => String(lot.usedMinor))}::int8[],
    ${lots.map(lot => String(lot.reservedMinor))}::int8[], ${lots.map(lot => lot.createdAt.toISOString())}::timestamptz[])`

export interface LotSpending {
  lotId: string
  invoiceId: string
  amountMinor: bigint
}

/** Spends lots on invoices. What was reserved for the invoice before is released in the same step. */
export const spendLots = (
  tx: Tx,
  businessId: string,
  spendings: readonly LotSpending[],
  options: { reserved: boolean } = { reserved: false },
) =>
  Promise.all([
    tx`
    insert into billing_credit_use (business_id, lot_id, invoice_id, amount_minor)
    select ${businessId}, * from unnest(${spendings.map(one => one.lotId)}::text[],
      ${spendings.map(one => one.invoiceId)}::text[], ${spendings.map(one => String(one.amountMinor))}::int8[])`,
    ...spendings.map(
      ({ lotId, amountMinor }) => tx`
      update billing_credit_lot set used_minor = used_minor + ${amountMinor},
        reserved_minor = reserved_minor - ${options.reserved ? amountMinor : 0n}
      where business_id = ${businessId} and id = ${lotId}`,
    ),
  ])

/** Holds (or, with a negative sign, lets go) parts of lots for a change whose card is being charged. */
export const reserveLots = (
  tx: Tx,
  businessId: string,
  parts: readonly { lotId: string; amountMinor: bigint }[],
  sign: 1 | -1,
) => tx`
  update billing_credit_lot lot set reserved_minor = reserved_minor + ${sign} * part.amount
  from unnest(${parts.map(part => part.lotId)}::text[], ${parts.map(part => String(part.amountMinor))}::int8[])
    as part (lot_id, amount)
  where lot.business_id = ${businessId} and lot.id = part.lot_id`
