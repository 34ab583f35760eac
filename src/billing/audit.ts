import type { Db } from '../platform/database.ts'
import { wrongMovements } from './mrr/store.ts'
import * as store from './store-audit.ts'

/**
 * The twelve things that are always true of the books. Each is asked of the database itself, in one statement, and
 * answers whatever contradicts it; an audit of a healthy business answers nothing.
 */
const invariants: readonly {
  name: string
  find: (db: Db, businessId: string) => Promise<readonly { what: string }[]>
}[] = [
  { name: '1: every act of the ledger is balanced', find: store.unbalancedActs },
  { name: '2: due = total - payments - credit - offsets', find: store.wrongDues },
  { name: '2: what is due is what the ledger says customers owe', find: store.wrongReceivables },
  { name: '3: lots are not overspent and add up to the credit account', find: store.wrongCredit },
  { name: '3: what lots were spent on is what invoices show', find: store.wrongCreditUses },
  { name: '4: no more is refunded than was captured', find: store.overRefunded },
  { name: '5: no more is credited on a line than was billed', find: store.overCredited },
  { name: '6: each period has exactly one invoice', find: store.doubleBilled },
  { name: '7: periods tile time', find: store.holesInTime },
  { name: '8: invoice numbers have no gaps', find: store.numberGaps },
  { name: '9: coupons are not redeemed too often', find: store.overRedeemed },
  { name: '10: a license code is given once', find: store.doubleCodes },
  { name: '11: succeeded payments are what the ledger received', find: store.wrongCash },
  { name: '11: the test gateway took what we think it took', find: store.wrongTestCharges },
  { name: '12: tax of lines = tax of their invoice', find: store.wrongTax },
  { name: 'deferred revenue is what subscriptions have in store', find: store.wrongDeferred },
  { name: 'movements of recurring revenue add up to what subscriptions bring', find: wrongMovements },
  { name: 'no renewal stays behind', find: store.parked },
]

export async function audit(db: Db, businessId: string): Promise<string[]> {
  const findings: string[] = []
  for (const { name, find } of invariants)
    for (const { what } of await find(db, businessId)) findings.push(`${name}: ${what}`)
  return findings
}
