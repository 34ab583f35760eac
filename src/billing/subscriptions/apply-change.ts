import { newId } from '../../platform/ids.ts'
import { issueDraft, keep } from '../invoices/issue.ts'
import { openLot, settledBy } from '../invoices/receive.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import { takeBack } from '../ledger/ledger.ts'
import { min, sum, toMajor } from '../money.ts'
import {
  owedBy,
  type Scene,
  saveInvoice,
  saveSubscription,
  tellCredit,
  tellInvoice,
  tellSubscription,
} from '../scene.ts'
import { inPeriod, timed } from './periods.ts'
import type { LotUse } from './proration.ts'
import { type Remembered, recallChange } from './remembered-change.ts'
import type { ScheduledTerms } from './scheduled.ts'
import type { SubscriptionRow } from './store.ts'
import type { ChangeRow } from './store-changes.ts'

/** Puts a computed change into force, at once or after its card was charged; or drops it without a trace on the plan. */

/** The draft becomes an invoice, the credit of the old plan is given, the new terms hold. */
export function applyChange(
  scene: Scene,
  row: SubscriptionRow,
  change: Remembered,
  options: { draft: InvoiceRow; held: boolean },
): SubscriptionRow {
  const { draft, held } = options
  giveCredit(scene, row, change)
  const uses = [...change.uses.held, ...change.uses.fresh]
  const changed = withTermsOf(scene, row, change, draft)
  saveSubscription(scene, changed)
  const { around, deed } = scene
  if (change.addons.length > 0 || around.chosen.has(row.id)) deed.addons.set(row.id, change.addons)
  around.chosen.set(row.id, change.addons)
  const kept = keep(changed, change.addons, around.customers.get(row.customerId)!) as unknown as Record<string, unknown>
  const invoice = issueDraft(scene, { ...draft, subscription: kept }, held ? change.uses : { fresh: uses, held: [] })
  const replaced = dropScheduled(scene, row.id)
  tellInvoice(scene, 'invoice_create', invoice)
  tellSubscription(
    scene,
    [
      `subscription_${changed.updateType}`,
      ...(replaced ? [`subscription_${replaced.updateType}_changes_removed`] : []),
    ],
    changed,
  )
  for (const credit of closedCredits(changed, uses)) tellCredit(scene, 'credit_close', credit)
  return changed
}

const openChangeOf = ({ changes }: Scene, draft: InvoiceRow): ChangeRow | undefined =>
  changes.find(change => change.state === 'open' && change.invoiceId === draft.id)

/** The card paid for an open change. */
export function applyOpenChange(scene: Scene, row: SubscriptionRow, draft: InvoiceRow): SubscriptionRow {
  const change = openChangeOf(scene, draft)
  if (!change) throw new Error(`No open change belongs to invoice ${draft.id}.`)
  scene.deed.changes.push({ id: change.id, state: 'applied' })
  return applyChange(scene, row, recallChange(change), { draft, held: true })
}

/** The card said no: the old plan stays, the draft goes without a number, the lots are free again. */
export function dropOpenChange(scene: Scene, draft: InvoiceRow): void {
  const { deed, context } = scene
  const change = openChangeOf(scene, draft)
  if (!change) return
  const { uses, redeemed } = recallChange(change)
  deed.released.push(...uses.held)
  if (redeemed) deed.coupons.push(redeemed)
  saveInvoice(scene, {
    ...draft,
    status: 'void',
    dueMinor: 0n,
    writtenOffMinor: draft.writtenOffMinor + draft.dueMinor,
    updatedAt: context.now,
  })
  deed.changes.push({ id: change.id, state: 'dropped' })
}

/** A change at once replaces the one that waited for the end of the term; a coupon redeemed for that is free again. */
function dropScheduled({ changes, deed }: Scene, subscriptionId: string): ChangeRow | undefined {
  const waiting = changes.find(change => change.state === 'scheduled' && change.subscriptionId === subscriptionId)
  if (!waiting) return undefined
  deed.changes.push({ id: waiting.id, state: 'dropped' })
  const { redeemed } = waiting.terms as unknown as ScheduledTerms
  if (redeemed) deed.coupons.push(redeemed)
  return waiting
}

/** The unused time of the old plan: first off what is still due on its invoice, the rest as a credit lot. */
function giveCredit(scene: Scene, row: SubscriptionRow, change: Remembered): void {
  const { deed, context } = scene
  const { netMinor, taxMinor, lines } = change.credit
  if (lines.length === 0) return
  const offsetMinor = offset(scene, row, change)
  const lotMinor = netMinor + taxMinor - offsetMinor
  deed.notes.push({
    id: newId(),
    subscriptionId: row.id,
    kind: 'change',
    sourceId: change.changeId,
    netMinor,
    taxMinor,
    lines,
    createdAt: context.now,
  })
  const back = takeBack(row.deferredMinor, netMinor)
  deed.acts.push({
    sourceKey: `change:${change.changeId}`,
    at: context.now,
    customerId: row.customerId,
    subscriptionId: row.id,
    currency: row.currency,
    accounts: { ...back, tax: taxMinor, receivable: -offsetMinor, customerCredit: -lotMinor },
  })
  if (lotMinor > 0n) openLot(scene, row, { id: change.newLotId, sourceId: change.changeId, amountMinor: lotMinor })
}

/** Computed again here: what was due may have been paid while the card was charged. */
function offset(scene: Scene, row: SubscriptionRow, change: Remembered): bigint {
  let total = 0n
  for (const invoice of owedBy(scene, row.id)) {
    const lines = change.credit.lines.filter(line => line.invoiceId === invoice.id)
    const offsetMinor = min(sum(lines.map(line => line.netMinor + line.taxMinor)), invoice.dueMinor)
    if (offsetMinor === 0n) continue
    saveInvoice(scene, settledBy(invoice, { offsetMinor, now: scene.context.now }))
    total += offsetMinor
  }
  return total
}

function withTermsOf(
  { context }: Scene,
  row: SubscriptionRow,
  change: Remembered,
  invoice: InvoiceRow,
): SubscriptionRow {
  const { business, now } = context
  const back = takeBack(row.deferredMinor, change.credit.netMinor)
  const changed: SubscriptionRow = {
    ...row,
    ...change.patch,
    // Trial: the fee waits for the first bill. Else it is on this invoice.
    setupFeeDue: row.periodEnd === null && !change.period ? Boolean(change.patch.setupFeeDue) : false,
    ...(row.status === 'trial' && change.period && endedTrial(row, now)),
    deferredMinor: row.deferredMinor - back.deferred + invoice.netMinor,
    updatedAt: now,
  }
  const at = { now, timeZone: business.timeZone }
  // A period that is kept ends when it would have, also where the business has moved to another time zone since it began.
  const opened = change.period
    ? inPeriod(changed, change.period, at)
    : { ...timed(changed, at), ...(row.nextBillingAt && { nextBillingAt: row.nextBillingAt }) }
  // A restart spends no cycle of its own: withTerms counted the running period as the first.
  const timely = change.period ? timed({ ...opened, cyclesLeft: changed.cyclesLeft }, at) : opened
  return row.status === 'unpaid' ? { ...timely, nextBillingAt: null, remindAt: null } : timely
}

const endedTrial = (row: SubscriptionRow, now: Date) => ({
  status: row.cancelAtEnd ? ('non_renewing' as const) : ('live' as const),
  activationAt: null,
  trialExpiryAt: now,
})

/** Which credits an invoice used up. */
export const closedCredits = (row: SubscriptionRow, uses: readonly LotUse[]) =>
  uses
    .filter(use => use.amountMinor === use.fromMinor)
    .map(use => ({
      id: use.lotId,
      subscription_id: row.id,
      customer_id: row.customerId,
      amount: toMajor(use.fromMinor, row.currency),
      remaining_amount: 0,
    }))
