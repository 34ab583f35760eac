import { type Static, Type } from 'typebox'
import { currencySymbol } from '../currencies.ts'
import { startOfDay } from '../dates.ts'
import { AmountShown } from '../fields.ts'
import { CreditNoteSchema, LineSchema } from '../invoices/schema.ts'
import { showLine } from '../invoices/show.ts'
import { toMajor } from '../money.ts'
import type { ChangeQuote } from './quote-change.ts'
import { PlanChangeRequest } from './schema.ts'

/** A change of plan before anybody decides for it: the figures of the change itself. */

const { payment_mode, ...fields } = PlanChangeRequest.properties
export const PlanChangePreviewRequest = Type.Object({ ...fields, payment_mode: Type.Optional(payment_mode) })

export const PlanChangePreview = Type.Object({
  update_type: Type.String(),
  amount: AmountShown,
  charge_amount: AmountShown,
  currency_code: Type.String(),
  currency_symbol: Type.String(),
  next_billing_date: Type.String(),
  credit_note: CreditNoteSchema,
  lines: Type.Array(LineSchema),
})

export function showPreview(quote: ChangeQuote, timeZone: string): Static<typeof PlanChangePreview> {
  const { subscription, bill } = quote
  const { currency } = subscription
  const end = quote.period?.end ?? subscription.periodEnd ?? subscription.anchorDate
  return {
    update_type: quote.updateType,
    amount: toMajor(bill.totalMinor, currency),
    charge_amount: toMajor(quote.chargeMinor, currency),
    currency_code: currency,
    currency_symbol: currencySymbol(currency),
    next_billing_date: startOfDay(end, timeZone).toISOString(),
    credit_note: quote.creditNote,
    lines: bill.lines.map(line => showLine(line, currency)),
  }
}
