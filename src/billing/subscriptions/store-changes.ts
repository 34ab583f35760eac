import { type Db, first, type Tx } from '../../platform/database.ts'
import { among } from '../store-among.ts'

export interface ChangeRow {
  id: string
  subscriptionId: string
  state: 'scheduled' | 'open' | 'applied' | 'dropped'
  updateType: 'upgrade' | 'downgrade'
  planId: string
  /** see ChangeTerms in change-terms.ts; amounts are kept in text */
  terms: Record<string, unknown>
  invoiceId: string | null
  transactionId: string | null
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, subscription_id as "subscriptionId", state, update_type as "updateType", plan_id as "planId", terms,
  invoice_id as "invoiceId", transaction_id as "transactionId", created_at as "createdAt", updated_at as "updatedAt"`

export const insertChange = (tx: Tx, businessId: string, change: ChangeRow, idempotencyKey: string | null) => tx`
  insert into billing_change (business_id, id, subscription_id, state, update_type, plan_id, terms, invoice_id,
    transaction_id, idempotency_key, created_at, updated_at)
  values (${businessId}, ${change.id}, ${change.subscriptionId}, ${change.state}, ${change.updateType}, ${change.planId},
    ${tx.json(change.terms as never)}, ${change.invoiceId}, ${change.transactionId}, ${idempotencyKey},
    ${change.createdAt}, ${change.updatedAt})`

export const setChangeState = (
  tx: Tx,
  businessId: string,
  change: { id: string; state: ChangeRow['state'] },
  at: Date,
) => tx`
  update billing_change set state = ${change.state}, updated_at = ${at}
  where business_id = ${businessId} and id = ${change.id}`

/** Those that are still to come about: waiting for their card or for the end of the term. */
export const waitingChanges = (tx: Tx, businessId: string, subscriptionIds: readonly string[]) => tx<ChangeRow[]>`
  select ${columns(tx)} from billing_change
  where business_id = ${businessId} and subscription_id ${among(tx, subscriptionIds)} and state in ('open', 'scheduled')`

export const findScheduled = (db: Db, businessId: string, subscriptionId: string) =>
  db<ChangeRow[]>`
  select ${columns(db)} from billing_change
  where business_id = ${businessId} and subscription_id = ${subscriptionId} and state = 'scheduled'`.then(first)

export const scheduledOf = (db: Db, businessId: string, subscriptionIds: readonly string[]) => db<ChangeRow[]>`
  select ${columns(db)} from billing_change
  where business_id = ${businessId} and subscription_id ${among(db, subscriptionIds)} and state = 'scheduled'`

export const findOpen = (db: Db, businessId: string, subscriptionId: string) =>
  db<ChangeRow[]>`
  select ${columns(db)} from billing_change
  where business_id = ${businessId} and subscription_id = ${subscriptionId} and state = 'open'`.then(first)

export const findChange = (db: Db, businessId: string, id: string) =>
  db<ChangeRow[]>`
  select ${columns(db)} from billing_change where business_id = ${businessId} and id = ${id}`.then(first)

export const findChangeByKey = (db: Db, businessId: string, subscriptionId: string, key: string) =>
  db<ChangeRow[]>`
  select ${columns(db)} from billing_change
  where business_id = ${businessId} and subscription_id = ${subscriptionId} and idempotency_key = ${key}`.then(first)

/** Undefined when there was none. */
export const dropScheduled = (tx: Tx, businessId: string, subscriptionId: string, at: Date) =>
  tx<ChangeRow[]>`
  update billing_change set state = 'dropped', updated_at = ${at}
  where business_id = ${businessId} and subscription_id = ${subscriptionId} and state = 'scheduled'
  returning ${columns(tx)}`.then(first)
