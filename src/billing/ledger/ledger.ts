import { sendAlong, type Tx } from '../../platform/database.ts'
import { min } from '../money.ts'
import * as store from './store.ts'

/**
 * Double entry, one row a business act: every account is a column, debits are positive, credits negative, and the row
 * must come to zero or the database refuses it. The source names the act, so that none is posted twice.
 */
export interface LedgerAct {
  sourceKey: string
  at: Date
  customerId: string
  subscriptionId: string
  currency: string
  gateway?: string
  accounts: Accounts
}

export interface Accounts {
  /** what customers owe */
  receivable?: bigint
  gatewayCash?: bigint
  offlineCash?: bigint
  /** billed, not yet delivered */
  deferred?: bigint
  revenue?: bigint
  tax?: bigint
  /** what customers may spend */
  customerCredit?: bigint
  /** refunds on their way through a gateway */
  refundClearing?: bigint
  writeOff?: bigint
}

export const post = (tx: Tx, businessId: string, acts: readonly LedgerAct[]): Promise<void> =>
  sendAlong(tx, ...store.insertActs(tx, businessId, acts))

/** Invoice issued, with the credit it used up, and the service of the period before counted as delivered. */
export const invoiceAccounts = (invoice: {
  totalMinor: bigint
  netMinor: bigint
  taxMinor: bigint
  creditMinor: bigint
  earnedMinor: bigint
}): Accounts => ({
  receivable: invoice.totalMinor - invoice.creditMinor,
  deferred: invoice.earnedMinor - invoice.netMinor,
  tax: -invoice.taxMinor,
  customerCredit: invoice.creditMinor,
  revenue: -invoice.earnedMinor,
})

export const paymentAccounts = (gateway: string, amountMinor: bigint): Accounts => ({
  [cashOf(gateway)]: amountMinor,
  receivable: -amountMinor,
})

export const cashOf = (gateway: string): 'offlineCash' | 'gatewayCash' =>
  gateway === 'offline' ? 'offlineCash' : 'gatewayCash'

/** What is given back comes out of what is not delivered yet, and only then out of revenue. */
export function takeBack(deferredMinor: bigint, netMinor: bigint): { deferred: bigint; revenue: bigint } {
  const deferred = min(deferredMinor, netMinor)
  return { deferred, revenue: netMinor - deferred }
}
