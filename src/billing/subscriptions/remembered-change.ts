import type { LineCrediting } from '../invoices/store-credit.ts'
import type { Period } from './periods.ts'
import type { LotUse } from './proration.ts'
import type { ChangeQuote } from './quote-change.ts'
import type { SubscriptionAddon, SubscriptionRow } from './store.ts'
import type { ChangeRow } from './store-changes.ts'

/** What must be remembered of a change between the charge and its result; amounts in text, because JSON has no exact ones. */
export interface OpenChange {
  patch: Record<string, unknown>
  addons: Record<string, unknown>[]
  period: Period | null
  credit: { net: string; tax: string; lines: { invoiceId: string; lineNo: number; net: string; tax: string }[] }
  newLotId: string | undefined
  uses: { lotId: string; amount: string; from: string }[]
  /** the coupon redeemed for this change, to be given back when it is dropped */
  redeemed: string | null
}

const minorFields = new Set(['unitPriceMinor', 'setupFeeMinor', 'adjustedMinor'])
const patchFields = [
  'planId',
  'planType',
  'quantity',
  'unitPriceMinor',
  'setupFeeMinor',
  'setupFeeDue',
  'periodUnit',
  'periodCount',
  'cyclesLeft',
  'anchorDate',
  'anchorPeriodNo',
  'couponId',
  'couponLeft',
  'updateReason',
  'updateType',
  'paymentTerm',
] as const satisfies (keyof SubscriptionRow)[]

const toText = (record: object) =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  )
const fromText = (record: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, minorFields.has(name) ? BigInt(value as string) : value]),
  )

export function rememberChange(quote: ChangeQuote, redeemed: string | null): OpenChange {
  return {
    patch: toText(Object.fromEntries(patchFields.map(name => [name, quote.subscription[name]]))),
    addons: quote.addons.map(toText),
    period: quote.period,
    credit: {
      net: String(quote.credit.netMinor),
      tax: String(quote.credit.taxMinor),
      lines: quote.credit.lines.map(line => ({
        invoiceId: line.invoiceId,
        lineNo: line.lineNo,
        net: String(line.netMinor),
        tax: String(line.taxMinor),
      })),
    },
    newLotId: quote.newLot?.id,
    uses: quote.uses.map(use => ({ lotId: use.lotId, amount: String(use.amountMinor), from: String(use.fromMinor) })),
    redeemed,
  }
}

export interface Remembered {
  changeId: string
  patch: Partial<SubscriptionRow>
  addons: SubscriptionAddon[]
  period: Period | null
  credit: { netMinor: bigint; taxMinor: bigint; lines: LineCrediting[] }
  newLotId: string | undefined
  /** spent on its invoice: out of the lot that the change itself makes, and of lots held for it */
  uses: { fresh: LotUse[]; held: LotUse[] }
  redeemed: string | null
}

export function recallChange({
  id,
  subscriptionId,
  terms,
}: Pick<ChangeRow, 'id' | 'subscriptionId' | 'terms'>): Remembered {
  const open = terms as unknown as OpenChange
  const uses = open.uses.map(use => ({
    lotId: use.lotId,
    amountMinor: BigInt(use.amount),
    fromMinor: BigInt(use.from),
  }))
  return {
    changeId: id,
    patch: fromText(open.patch) as Partial<SubscriptionRow>,
    addons: open.addons.map(fromText) as unknown as SubscriptionAddon[],
    period: open.period,
    credit: {
      netMinor: BigInt(open.credit.net),
      taxMinor: BigInt(open.credit.tax),
      lines: open.credit.lines.map(line => ({
        subscriptionId,
        invoiceId: line.invoiceId,
        lineNo: line.lineNo,
        netMinor: BigInt(line.net),
        taxMinor: BigInt(line.tax),
      })),
    },
    newLotId: open.newLotId,
    uses: {
      fresh: uses.filter(use => use.lotId === open.newLotId),
      held: uses.filter(use => use.lotId !== open.newLotId),
    },
    redeemed: open.redeemed,
  }
}
