import type { LocalDate } from '../dates.ts'
import { checkTotal, min, rnd, share, sum } from '../money.ts'

/** What an invoice is made of, computed from what is sold; pure, and the same for a first bill, a renewal and a change. */

export interface Item {
  kind: 'plan' | 'addon' | 'setup_fee'
  /** the plan or add-on it belongs to */
  itemId: string
  description: string
  quantity: number
  unitPriceMinor: bigint
  /** for the whole of its time, before discount and tax */
  fullMinor: bigint
  /** the time it pays for, half-open; none for what is sold once */
  start: LocalDate | null
  end: LocalDate | null
  /** the part of its time that is billed */
  billDays: number
  periodDays: number
}

export interface Discount {
  applyTo: 'total_amount' | 'subscription_amount' | 'addon_amount'
  /** parts per million, or an amount */
  ppm: number | null
  minor: bigint | null
}

export interface TaxRate {
  id: string
  name: string
  ratePpm: number
}

export interface BillLine {
  kind: Item['kind']
  itemId: string
  description: string
  quantity: number
  unitPriceMinor: bigint
  amountMinor: bigint
  discountMinor: bigint
  netMinor: bigint
  taxMinor: bigint
  start: LocalDate | null
  end: LocalDate | null
}

export interface Bill {
  lines: BillLine[]
  netMinor: bigint
  taxMinor: bigint
  totalMinor: bigint
  taxes: { id: string; name: string; ratePpm: number; taxMinor: bigint }[]
}

const million = 1_000_000n

export function makeBill(items: readonly Item[], discount: Discount | undefined, rates: readonly TaxRate[]): Bill {
  const discounts = discountsOf(items, discount)
  const nets = items.map((item, i) => prorated(item.fullMinor - discounts[i]!, item))
  const netMinor = checkTotal(sum(nets))
  const taxes = rates.map(({ id, name, ratePpm }) => ({
    id,
    name,
    ratePpm,
    taxMinor: rnd(netMinor, BigInt(ratePpm), million),
  }))
  const taxMinor = sum(taxes.map(tax => tax.taxMinor))
  const lineTaxes = share(taxMinor, nets)
  const lines = items.map((item, i) => {
    const amountMinor = prorated(item.fullMinor, item)
    const { kind, itemId, description, quantity, unitPriceMinor, start, end } = item
    return {
      kind,
      itemId,
      description,
      quantity,
      unitPriceMinor,
      amountMinor,
      discountMinor: amountMinor - nets[i]!,
      netMinor: nets[i]!,
      taxMinor: lineTaxes[i]!,
      start,
      end,
    }
  })
  return { lines, netMinor, taxMinor, totalMinor: checkTotal(netMinor + taxMinor), taxes }
}

/** One rounding a line: the discount is exact on the full price, then the rest is taken by days. */
const prorated = (fullMinor: bigint, { billDays, periodDays }: Item): bigint =>
  billDays === periodDays ? fullMinor : rnd(fullMinor, BigInt(billDays), BigInt(periodDays))

/** What the coupon takes off each item's full price. A setup fee is never discounted. */
export function discountsOf(items: readonly Item[], discount: Discount | undefined): bigint[] {
  if (!discount) return items.map(() => 0n)
  const covered = (item: Item) =>
    (item.kind === 'plan' && discount.applyTo !== 'addon_amount') ||
    (item.kind === 'addon' && discount.applyTo !== 'subscription_amount')
  if (discount.ppm !== null) {
    const ppm = BigInt(discount.ppm)
    return items.map(item => (covered(item) ? rnd(item.fullMinor, ppm, million) : 0n))
  }
  const weights = items.map(item => (covered(item) ? item.fullMinor : 0n))
  const all = sum(weights)
  return all === 0n ? items.map(() => 0n) : share(min(discount.minor ?? 0n, all), weights)
}

/** The full price of what comes again each period, net of the coupon: what an upgrade or downgrade is judged by. */
export function recurringTotal(items: readonly Item[], discount: Discount | undefined): bigint {
  const recurring = items.filter(item => item.start !== null)
  const discounts = discountsOf(recurring, discount)
  return sum(recurring.map((item, i) => item.fullMinor - discounts[i]!))
}
