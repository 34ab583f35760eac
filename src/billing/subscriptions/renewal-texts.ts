import type { NewEvent } from '../../platform/events.ts'
import { type Context, eventOf } from '../context.ts'
import { showCustomer } from '../customers/customers.ts'
import { issued } from '../invoices/issue.ts'
import { invoiceNumber, showInvoiceAlone } from '../invoices/show.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import { showPlan } from '../plans/plans.ts'
import { closedCredits } from './apply-change.ts'
import type { Around } from './renewal-facts.ts'
import type { Step } from './renewal-step.ts'
import { showWith } from './show.ts'

/**
 * The JSON of a renewal. Three kilobytes each are most of the work of a run, so the event of an invoice is put together
 * from texts that are made once: what the invoice keeps of its subscription, the plan of many, the customer.
 */
export interface StepTexts {
  /** what the invoice keeps of its subscription */
  kept: string | undefined
  /** the event of the invoice, cut where its number goes */
  invoice: { event: NewEvent; before: string; after: string } | undefined
  others: NewEvent[]
}

const numberField = '"invoice_id":"'
const plainEnd = ',"addons":[],"coupon_id":null}'

export function textsOf(context: Context, steps: readonly Step[], around: Around): StepTexts[] {
  const plans = new Map([...around.plans].map(([id, plan]) => [id, JSON.stringify(showPlan(plan))]))
  return steps.map(step => {
    const { row } = step
    const shown = () => {
      const chosen = step.change ? step.addons : (around.chosen.get(row.id) ?? [])
      return showWith(row, { ...around, chosen: new Map([[row.id, chosen]]) })
    }
    const others = [
      ...step.events.map(type => eventOf(context, type, row.id, shown())),
      ...closedCredits(row, step.invoice?.uses ?? []).map(credit => eventOf(context, 'credit_close', row.id, credit)),
    ]
    if (!step.invoice) return { kept: undefined, invoice: undefined, others }
    const kept = JSON.stringify(step.invoice.row.subscription)
    const subscription = kept.endsWith(plainEnd)
      ? `${kept.slice(0, -plainEnd.length)},"plan":${plans.get(row.planId)},"addons":[],"coupon":null}`
      : JSON.stringify(shown())
    const customer = JSON.stringify(showCustomer(around.customers.get(row.customerId)!, null))
    const alone = JSON.stringify(showInvoiceAlone(issued(step.invoice.row, null, context.now)))
    const cut = alone.indexOf(numberField) + numberField.length
    return {
      kept,
      invoice: {
        event: eventOf(context, 'invoice_create', row.id, {}),
        before: alone.slice(0, cut),
        after: `${alone.slice(cut, -1)},"subscription":${subscription},"customer":${customer}}`,
      },
      others,
    }
  })
}

/** In the order of the steps; the invoices are those of the steps that have one. */
export function eventsOf(texts: readonly StepTexts[], invoices: readonly InvoiceRow[]): NewEvent[] {
  let next = 0
  return texts.flatMap(({ invoice, others }) => {
    if (!invoice) return others
    const json = invoice.before + invoiceNumber(invoices[next++]!) + invoice.after
    return [{ ...invoice.event, json }, ...others]
  })
}
