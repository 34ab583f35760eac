import type { Db, Statement, Tx } from '../../platform/database.ts'
import { among } from '../store-among.ts'
import { inserter } from '../store-columns.ts'
import type { LedgerAct } from './ledger.ts'

/** A source that was posted before makes this fail: no act counts twice. */
export const insertActs = inserter<LedgerAct>('billing_ledger', {
  source_key: ['text', act => act.sourceKey],
  at: ['timestamptz', act => act.at],
  customer_id: ['text', act => act.customerId],
  subscription_id: ['text', act => act.subscriptionId],
  currency: ['text', act => act.currency],
  gateway: ['text', act => act.gateway],
  receivable: ['int8', act => act.accounts.receivable ?? 0n],
  gateway_cash: ['int8', act => act.accounts.gatewayCash ?? 0n],
  offline_cash: ['int8', act => act.accounts.offlineCash ?? 0n],
  deferred: ['int8', act => act.accounts.deferred ?? 0n],
  revenue: ['int8', act => act.accounts.revenue ?? 0n],
  tax: ['int8', act => act.accounts.tax ?? 0n],
  customer_credit: ['int8', act => act.accounts.customerCredit ?? 0n],
  refund_clearing: ['int8', act => act.accounts.refundClearing ?? 0n],
  write_off: ['int8', act => act.accounts.writeOff ?? 0n],
})

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

export const insertLots = inserter<LotRow>('billing_credit_lot', {
  id: ['text', lot => lot.id],
  subscription_id: ['text', lot => lot.subscriptionId],
  customer_id: ['text', lot => lot.customerId],
  currency: ['text', lot => lot.currency],
  source_id: ['text', lot => lot.sourceId],
  created_minor: ['int8', lot => lot.createdMinor],
  used_minor: ['int8', lot => lot.usedMinor],
  reserved_minor: ['int8', lot => lot.reservedMinor],
  created_at: ['timestamptz', lot => lot.createdAt],
})

export interface LotSpending {
  lotId: string
  invoiceId: string
  amountMinor: bigint
}

const insertUses = inserter<LotSpending>('billing_credit_use', {
  lot_id: ['text', one => one.lotId],
  invoice_id: ['text', one => one.invoiceId],
  amount_minor: ['int8', one => one.amountMinor],
})

/**
 * Spends lots on invoices. What was reserved for the invoice before is released in the same step; lots that were just made
 * are written with what is spent of them.
 */
export const spendLots = (
  tx: Tx,
  businessId: string,
  spendings: readonly LotSpending[],
  options: { reserved?: boolean; made?: readonly LotRow[] } = {},
): Statement[] => [
  ...insertUses(tx, businessId, spendings),
  ...spendings
    .filter(({ lotId }) => !options.made?.some(lot => lot.id === lotId))
    .map(
      ({ lotId, amountMinor }) => tx`
    update billing_credit_lot set used_minor = used_minor + ${amountMinor},
      reserved_minor = reserved_minor - ${options.reserved ? amountMinor : 0n}
    where business_id = ${businessId} and id = ${lotId}`,
    ),
]

/** Holds (or, with a negative sign, lets go) parts of lots for a change whose card is being charged. */
export const reserveLots = (
  tx: Tx,
  businessId: string,
  parts: readonly { lotId: string; amountMinor: bigint }[],
  sign: 1 | -1,
) =>
  parts.map(
    ({ lotId, amountMinor }) => tx`
    update billing_credit_lot set reserved_minor = reserved_minor + ${BigInt(sign) * amountMinor}
    where business_id = ${businessId} and id = ${lotId}`,
  )
