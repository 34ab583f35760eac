import { daysBetween, type LocalDate } from '../dates.ts'
import { max, min, rnd, sum } from '../money.ts'

/** Credit for time that was billed and will not be used: by day, from the billed lines, one rounding a line. Pure. */

export interface BilledLine {
  invoiceId: string
  lineNo: number
  netMinor: bigint
  taxMinor: bigint
  creditedNetMinor: bigint
  creditedTaxMinor: bigint
  start: LocalDate
  end: LocalDate
}

export interface LineCredit {
  invoiceId: string
  lineNo: number
  netMinor: bigint
  taxMinor: bigint
}

export interface Credit {
  lines: LineCredit[]
  netMinor: bigint
  taxMinor: bigint
  /** what was used and is not given back, before tax */
  usedMinor: bigint
}

/** The change date belongs to the new plan; a line that ended earns nothing back. */
export function creditFor(lines: readonly BilledLine[], changeDate: LocalDate): Credit {
  const credits: LineCredit[] = []
  let usedMinor = 0n
  for (const line of lines) {
    const { netMinor: billed, creditedNetMinor: already } = line
    const length = daysBetween(line.start, line.end)
    const remaining = Math.min(length, Math.max(0, daysBetween(changeDate, line.end)))
    const net = max(0n, rnd(billed, BigInt(remaining), BigInt(length)) - already)
    usedMinor += billed - already - net
    if (net === 0n) continue
    // Cumulative, so that crediting the whole line gives back exactly its tax.
    const tax = max(0n, rnd(line.taxMinor, already + net, billed) - line.creditedTaxMinor)
    credits.push({ invoiceId: line.invoiceId, lineNo: line.lineNo, netMinor: net, taxMinor: tax })
  }
  return {
    lines: credits,
    netMinor: sum(credits.map(line => line.netMinor)),
    taxMinor: sum(credits.map(line => line.taxMinor)),
    usedMinor,
  }
}

export interface Offset {
  invoiceId: string
  amountMinor: bigint
}

/** Unpaid first: a credit reduces what is still due on the invoice it reverses, before it becomes money to spend. */
export function offsetsOf(credit: Credit, dueByInvoice: ReadonlyMap<string, bigint>): Offset[] {
  const byInvoice = new Map<string, bigint>()
  for (const line of credit.lines)
    byInvoice.set(line.invoiceId, (byInvoice.get(line.invoiceId) ?? 0n) + line.netMinor + line.taxMinor)
  return [...byInvoice]
    .map(([invoiceId, amount]) => ({ invoiceId, amountMinor: min(amount, dueByInvoice.get(invoiceId) ?? 0n) }))
    .filter(offset => offset.amountMinor > 0n)
}

export interface OpenLot {
  id: string
  balanceMinor: bigint
}

export interface LotUse {
  lotId: string
  amountMinor: bigint
  /** balance before */
  fromMinor: bigint
}

/** Oldest lot first, until the amount is covered. */
export function useLots(lots: readonly OpenLot[], amountMinor: bigint): LotUse[] {
  const uses: LotUse[] = []
  let rest = amountMinor
  for (const lot of lots) {
    if (rest === 0n) break
    const used = min(lot.balanceMinor, rest)
    if (used === 0n) continue
    uses.push({ lotId: lot.id, amountMinor: used, fromMinor: lot.balanceMinor })
    rest -= used
  }
  return uses
}

/** By the price of a day, compared without division; equal counts as an upgrade. */
export const directionOf = (
  next: { totalMinor: bigint; days: number },
  before: { totalMinor: bigint; days: number },
): 'upgrade' | 'downgrade' =>
  next.totalMinor * BigInt(before.days) >= before.totalMinor * BigInt(next.days) ? 'upgrade' : 'downgrade'
