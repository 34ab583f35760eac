import { isPassing, type Tx } from '../../platform/database.ts'
import { emit, type NewEvent } from '../../platform/events.ts'
import { addonsByIds } from '../addons/addons.ts'
import { type Context, eventOf } from '../context.ts'
import { couponsByIds } from '../coupons/coupons.ts'
import { showCustomer } from '../customers/customers.ts'
import { localDate } from '../dates.ts'
import { newDeed, write } from '../deed.ts'
import { makeBill } from '../invoices/bill.ts'
import { draftInvoice, type NewInvoice, writeIssued } from '../invoices/issue.ts'
import { activate, isRenewal } from '../invoices/receive.ts'
import { showInvoiceWith } from '../invoices/show.ts'
import { type LedgerAct, post } from '../ledger/ledger.ts'
import * as ledger from '../ledger/store.ts'
import { noteMrr } from '../mrr/mrr.ts'
import { plansByIds } from '../plans/plans.ts'
import { settingsOf } from '../settings/settings.ts'
import type { Settings } from '../settings/store.ts'
import type { TaxRow } from '../taxes/store.ts'
import { allTaxes, chooseTaxes } from '../taxes/tax-for.ts'
import { closedCredits } from './apply-change.ts'
import { inPeriod, nextPeriod, periodsOver, restartedAt, skipped, stopped } from './periods.ts'
import { type OpenLot, useLots } from './proration.ts'
import { chargeNow, couponUsed, inTrial } from './purchase.ts'
import { type ScheduledTerms, withScheduled } from './scheduled.ts'
import { groupBy, type Surroundings, showWith, surroundingsOf } from './show.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'
import * as renewal from './store-renewal.ts'
import { discountFrom, sale, wholePeriod, withAdjusted } from './terms.ts'

/**
 * Time passes: what was to start starts, trials end, terms renew, expire or end as canceled. A thousand subscriptions
 * are one transaction: computed here, written with a few statements. A period can't be billed twice, because its
 * number moves on in the same transaction as its invoice, under the row's lock. Charging is a step of its own.
 */
const batchSize = 1_000
const parkedMs = 3_600_000

/** Does everything due for the business (or for the given subscriptions), missed periods one by one and in order. */
export async function renewDue(context: Context, ids?: readonly string[]): Promise<number> {
  let done = 0
  for (;;) {
    const count = await renewBatch(context, { limit: batchSize, ids })
    if (count === 0) return done
    done += count
  }
}

async function renewBatch(
  context: Context,
  options: { limit: number; ids: readonly string[] | undefined },
): Promise<number> {
  const { db, business, now } = context
  let claimed: string[] = []
  try {
    return await db.begin(async tx => {
      const rows = await renewal.claimDue(tx, business.id, { now, ...options })
      claimed = rows.map(row => row.id)
      if (rows.length > 0) await renewAll(tx, context, rows)
      return rows.length
    })
  } catch (error) {
    if (isPassing(error) || claimed.length === 0) throw error
    return divide(context, claimed, error)
  }
}

/** One that fails must not stop the others: the batch is halved until it stands alone, and is then put aside for an hour. */
async function divide(context: Context, ids: readonly string[], error: unknown): Promise<number> {
  const [only] = ids
  if (ids.length === 1 && only !== undefined) {
    const message = error instanceof Error ? error.message : String(error)
    context.platform.log.error({ err: error, subscription: only }, 'renewal failed; it is tried again in an hour')
    const until = new Date(context.now.getTime() + parkedMs)
    await renewal.park(context.db, context.business.id, only, { until, error: message })
    return 1
  }
  const middle = Math.ceil(ids.length / 2)
  const first = await renewBatch(context, { limit: ids.length, ids: ids.slice(0, middle) })
  return first + (await renewBatch(context, { limit: ids.length, ids: ids.slice(middle) }))
}

interface Around extends Surroundings {
  lots: Map<string, OpenLot[]>
  scheduled: Map<string, changes.ChangeRow>
  taxes: readonly TaxRow[]
  settings: Settings
}

async function lookAround(tx: Tx, businessId: string, rows: readonly SubscriptionRow[]): Promise<Around> {
  const ids = rows.map(row => row.id)
  const [around, lots, scheduled, taxes, settings] = await Promise.all([
    surroundingsOf(tx, businessId, rows),
    ledger.lockOpenLots(tx, businessId, ids),
    changes.scheduledOf(tx, businessId, ids),
    allTaxes(tx, businessId),
    settingsOf(tx, businessId),
  ])
  const planIds = scheduled.map(change => change.planId).filter(id => !around.plans.has(id))
  const couponIds = scheduled
    .map(change => change.terms.couponId as string | null)
    .filter(id => id !== null)
    .filter(id => !around.coupons.has(id))
  const addonIds = scheduled
    .flatMap(change => (change.terms as unknown as ScheduledTerms).addons.map(addon => String(addon.addonId)))
    .filter(id => !around.addons.has(id))
  for (const addon of addonIds.length ? await addonsByIds(tx, businessId, addonIds) : [])
    around.addons.set(addon.id, addon)
  for (const plan of planIds.length ? await plansByIds(tx, businessId, planIds) : []) around.plans.set(plan.id, plan)
  for (const coupon of couponIds.length ? await couponsByIds(tx, businessId, couponIds) : [])
    around.coupons.set(coupon.id, coupon)
  return {
    ...around,
    lots: groupBy(
      lots.map(lot => ({ ...lot, balanceMinor: lot.createdMinor - lot.usedMinor - lot.reservedMinor })),
      lot => lot.subscriptionId,
    ),
    scheduled: new Map(scheduled.map(change => [change.subscriptionId, change])),
    taxes,
    settings,
  }
}

/** What becomes of one subscription. */
interface Step {
  row: SubscriptionRow
  /** billed add-ons whose figures changed, or the whole new set of a scheduled change */
  addons: SubscriptionAddon[]
  change: changes.ChangeRow | undefined
  /** more than the columns of a plain renewal changed */
  wide: boolean
  invoice: NewInvoice | undefined
  act: LedgerAct | undefined
  events: string[]
}

async function renewAll(tx: Tx, context: Context, rows: readonly SubscriptionRow[]): Promise<void> {
  const { business, now } = context
  const around = await lookAround(tx, business.id, rows)
  const steps = rows.map(row => stepOf(context, row, around))
  const wide = steps.filter(step => step.wide)
  const plain = steps.filter(step => !step.wide)
  if (plain.length > 0)
    await renewal.saveRenewed(
      tx,
      business.id,
      plain.map(step => step.row),
    )
  for (const step of wide) await store.saveSubscription(tx, business.id, step.row)
  for (const step of steps)
    if (step.change) {
      await store.replaceAddons(tx, business.id, step.row.id, step.addons)
      const state = step.invoice ? 'applied' : 'dropped'
      await changes.setChangeState(tx, business.id, { id: step.change.id, state }, now)
    }
  const billed = steps.filter(step => !step.change).flatMap(step => step.addons)
  if (billed.length > 0) await renewal.saveBilledAddons(tx, business.id, billed)
  await post(
    tx,
    business.id,
    steps.map(step => step.act).filter(act => act !== undefined),
  )
  const invoices = await writeIssued(
    tx,
    business.id,
    steps.map(step => step.invoice).filter(invoice => invoice !== undefined),
    now,
  )
  await tell(tx, context, steps, new Map(invoices.map(invoice => [invoice.id, invoice])), around)
  await activateFree(tx, context, steps, around)
  // A plain renewal brings as much a month as before.
  await noteMrr(
    tx,
    context,
    wide.map(step => step.row.id),
  )
}

/** A first invoice on which nothing is due counts as paid. */
async function activateFree(tx: Tx, context: Context, steps: readonly Step[], around: Around): Promise<void> {
  const free = steps.filter(step => step.invoice?.row.dueMinor === 0n && !step.row.activated)
  if (free.length === 0) return
  const deed = newDeed()
  const scene = { context, deed, subscriptions: new Map(), invoices: new Map(), changes: [], around }
  for (const { row, addons, change } of free) {
    if (change) around.chosen.set(row.id, addons)
    activate(scene, row)
  }
  await write(tx, context, deed)
}

function stepOf(context: Context, row: SubscriptionRow, around: Around): Step {
  const { now, business } = context
  const at = { now, timeZone: business.timeZone }
  const change = around.scheduled.get(row.id)
  const begun = row.periodNo > 0
  if (row.cancelAtEnd) return ended(context, row, change, { status: 'canceled', event: 'subscription_cancel' })
  // Another plan that waits for the end of the last cycle goes on with cycles of its own.
  const goesOn = change !== undefined && change.planId !== row.planId
  if (begun && !goesOn && row.cyclesLeft !== null && row.cyclesLeft <= leftOut(context, row, around))
    return ended(context, row, change, { status: 'expired', event: 'subscription_expire' })
  if (row.status === 'future' && row.trialDays > 0)
    return {
      row: { ...inTrial(row, row.anchorDate, at), updatedAt: now },
      addons: [],
      change: undefined,
      wide: true,
      invoice: undefined,
      act: undefined,
      events: [],
    }
  if (row.status === 'trial' && row.gateway !== 'offline' && row.paymentMethodId === null)
    return ended(context, row, change, { status: 'trial_expired', event: 'subscription_trial_expired' })
  return billed(context, row, around)
}

function ended(
  context: Context,
  row: SubscriptionRow,
  change: changes.ChangeRow | undefined,
  end: { status: 'canceled' | 'expired' | 'trial_expired'; event: string },
): Step {
  const { now } = context
  const canceledAt = end.status === 'canceled' ? now : row.canceledAt
  const last = stopped({ ...row, canceledAt, deferredMinor: 0n }, end.status, now)
  const act = row.deferredMinor > 0n ? earned(row, now) : undefined
  return { row: last, addons: [], change, wide: true, invoice: undefined, act, events: [end.event] }
}

/** The service of a term that ended is delivered. */
export const earned = (row: SubscriptionRow, at: Date): LedgerAct => ({
  sourceKey: `earned:${row.id}:${row.periodNo}`,
  at,
  customerId: row.customerId,
  subscriptionId: row.id,
  currency: row.currency,
  accounts: { deferred: row.deferredMinor, revenue: -row.deferredMinor },
})

function billed(context: Context, before: SubscriptionRow, around: Around): Step {
  const { now, business } = context
  const { timeZone } = business
  const customer = around.customers.get(before.customerId)!
  const change = around.scheduled.get(before.id)
  const changed = change
    ? withScheduled(before, change, around.plans.get(change.planId)!, around.coupons.get(String(change.terms.couponId)))
    : { row: before, addons: around.chosen.get(before.id) ?? [] }
  const term = retimed(before, changed.row)
  const unused = term.couponLeft === 0 && term.couponId !== null && term.periodNo > 0
  const current = skipped(term, leftOut(context, term, around))
  const terms: SubscriptionRow = unused ? { ...current, couponId: null, couponLeft: null } : current
  const period = nextPeriod(terms)
  const plan = around.plans.get(terms.planId)!
  const sold = sale(terms, changed.addons, wholePeriod(period.start, period.end), plan)
  const coupon = terms.couponId === null ? undefined : around.coupons.get(terms.couponId)
  const address = customer.billingAddress
  const place = { country: address.country, state: address.state, stateCode: address.state_code }
  const bill = makeBill(sold.items, discountFrom(coupon), customer.taxExempt ? [] : chooseTaxes(around.taxes, place))
  const uses = useLots(around.lots.get(before.id) ?? [], bill.totalMinor)
  const addons = withAdjusted(sold.addons, bill.lines)
  const status = before.status === 'dunning' ? 'dunning' : 'live'
  const paid = couponUsed({ ...terms, status, setupFeeDue: false, deferredMinor: bill.netMinor })
  const row = inPeriod(paid, period, { now, timeZone })
  const resumed = before.periodEnd !== null && before.periodEnd !== period.start
  const invoice = draftInvoice({
    kind: resumed ? 'resume' : 'renewal',
    subscription: row,
    addons,
    customer,
    bill,
    uses,
    period,
    term: row.paymentTerm,
    creditNote: null,
    now,
    timeZone,
    earnedMinor: before.deferredMinor,
  })
  const how = chargeNow(row.gateway, invoice.row.dueMinor, row.currency)
  invoice.row.chargeAt = how === 'charge' ? now : null
  invoice.row.carried = how === 'carry'
  const touched = change ? addons : addons.filter((addon, i) => isChanged(addon, changed.addons[i]))
  const wide = change !== undefined || before.status === 'future' || before.status === 'trial' || resumed
  const events = how === 'charge' || !isRenewal(invoice.row) ? [] : ['subscription_renew']
  if (change) events.push(`subscription_${change.updateType}`)
  return { row, addons: touched, change, wide, invoice, act: undefined, events }
}

const isChanged = (after: SubscriptionAddon, before: SubscriptionAddon | undefined) =>
  after.paidPeriods !== before?.paidPeriods || after.adjustedMinor !== before.adjustedMinor

/** How many periods passed without being billed and will not be, because the business wants only the running one. */
function leftOut({ now, business }: Context, row: SubscriptionRow, { settings }: Around): number {
  return settings.missedPeriods === 'bill_all' || row.periodNo === 0
    ? 0
    : periodsOver(row, localDate(now, business.timeZone))
}

/** Another rhythm begins where the old term ends. */
function retimed(before: SubscriptionRow, after: SubscriptionRow): SubscriptionRow {
  const same = before.periodUnit === after.periodUnit && before.periodCount === after.periodCount
  if (same || before.periodEnd === null || before.anchorPeriodNo > before.periodNo) return after
  return restartedAt(after, before.periodEnd)
}

async function tell(
  tx: Tx,
  context: Context,
  steps: readonly Step[],
  invoices: ReadonlyMap<string, Parameters<typeof showInvoiceWith>[0]>,
  around: Around,
): Promise<void> {
  const customers = new Map([...around.customers].map(([id, row]) => [id, showCustomer(row, null)]))
  const events: NewEvent[] = []
  for (const step of steps) {
    const chosen = step.change ? step.addons : (around.chosen.get(step.row.id) ?? [])
    const shown = showWith(step.row, { ...around, chosen: new Map([[step.row.id, chosen]]) })
    const invoice = step.invoice && invoices.get(step.invoice.row.id)
    if (invoice)
      events.push(
        eventOf(context, 'invoice_create', step.row.id, {
          ...showInvoiceWith(invoice, shown),
          customer: customers.get(step.row.customerId),
        }),
      )
    for (const type of step.events) events.push(eventOf(context, type, step.row.id, shown))
    for (const credit of closedCredits(step.row, step.invoice?.uses ?? []))
      events.push(eventOf(context, 'credit_close', step.row.id, credit))
  }
  await emit(tx, ...events)
}

/** Tells that renewals are near. */
export async function remind(context: Context): Promise<number> {
  const { db, business, now } = context
  for (let done = 0; ; ) {
    const count = await db.begin(async tx => {
      const rows = await renewal.takeReminders(tx, business.id, now, batchSize)
      if (rows.length === 0) return 0
      const around = await surroundingsOf(tx, business.id, rows)
      await emit(tx, ...rows.map(row => eventOf(context, 'subscription_about_to_renew', row.id, showWith(row, around))))
      return rows.length
    })
    if (count === 0) return done
    done += count
  }
}
