import { type Statement, sendAlong, type Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import type { Context } from '../context.ts'
import { newDeed, write } from '../deed.ts'
import { issueAct, issued } from '../invoices/issue.ts'
import { numbersForBatch } from '../invoices/numbers.ts'
import { activate } from '../invoices/receive.ts'
import * as invoices from '../invoices/store.ts'
import type { LedgerAct } from '../ledger/ledger.ts'
import * as lots from '../ledger/store.ts'
import { noteMrr } from '../mrr/mrr.ts'
import type { Around } from './renewal-facts.ts'
import type { Step } from './renewal-step.ts'
import { eventsOf, textsOf } from './renewal-texts.ts'
import * as store from './store.ts'
import * as changes from './store-changes.ts'
import * as renewal from './store-renewal.ts'

/**
 * Writes what became of many subscriptions: everything that needs no invoice number in one trip, then the numbers, then
 * invoices and events. Others of the business wait from the numbers on, so all texts are made before.
 */
export async function writeSteps(tx: Tx, context: Context, steps: readonly Step[], around: Around): Promise<void> {
  const { business, now } = context
  const texts = textsOf(context, steps, around)
  await sendAlong(tx, ...allButInvoices(tx, context, steps))
  const fresh = steps.flatMap(step => step.invoice ?? [])
  const numbers = await numbersForBatch(tx, context, fresh.length)
  const rows = fresh.map(({ row }, i) => issued(row, numbers[i]!, now))
  const kept = texts.flatMap(text => text.kept ?? [])
  const written = rows.map((row, i) => ({ ...row, subscription: kept[i]! }))
  await sendAlong(tx, ...invoices.insertInvoices(tx, business.id, written))
  await emit(tx, ...eventsOf(texts, rows))
  await activateFree(tx, context, steps, around)
  // A plain renewal brings as much a month as before.
  const moved = steps.filter(step => step.wide).map(step => step.row.id)
  await noteMrr(tx, context, moved)
}

function allButInvoices(tx: Tx, { business, now }: Context, steps: readonly Step[]): Statement[] {
  const plain = steps.filter(step => !step.wide).map(step => step.row)
  const changed = steps.filter(step => step.change)
  const addons = steps.filter(step => !step.change).flatMap(step => step.addons)
  const fresh = steps.flatMap(step => step.invoice ?? [])
  const spendings = fresh.flatMap(({ row, uses }) =>
    uses.map(use => ({ lotId: use.lotId, invoiceId: row.id, amountMinor: use.amountMinor })),
  )
  const acts: LedgerAct[] = [...steps.flatMap(step => step.act ?? []), ...fresh.map(invoice => issueAct(invoice, now))]
  const { id } = business
  return [
    ...(plain.length > 0 ? [renewal.saveRenewed(tx, id, plain)] : []),
    ...steps.filter(step => step.wide).map(step => store.saveSubscription(tx, id, step.row)),
    ...changed.flatMap(({ row, addons, change, invoice }) => [
      ...store.replaceAddons(tx, id, row.id, addons),
      changes.setChangeState(tx, id, { id: change!.id, state: invoice ? 'applied' : 'dropped' }, now),
    ]),
    ...(addons.length > 0 ? [renewal.saveBilledAddons(tx, id, addons)] : []),
    ...invoices.insertLines(
      tx,
      id,
      fresh.flatMap(invoice => invoice.lines),
    ),
    ...lots.spendLots(tx, id, spendings),
    ...lots.insertActs(tx, id, acts),
  ]
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
