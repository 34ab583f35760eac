import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addDays, daysBetween } from '../dates.ts'
import { type Item, makeBill } from '../invoices/bill.ts'
import { sum } from '../money.ts'
import { type BilledLine, creditFor, directionOf, offsetsOf, useLots } from './proration.ts'

const line = fc
  .record({
    net: fc.bigInt(0n, 10n ** 9n),
    taxPpm: fc.integer({ min: 0, max: 300_000 }),
    days: fc.integer({ min: 1, max: 366 }),
    used: fc.integer({ min: 0, max: 366 }),
  })
  .map(({ net, taxPpm, days, used }) => ({
    line: {
      invoiceId: 'a',
      lineNo: 1,
      netMinor: net,
      taxMinor: (net * BigInt(taxPpm)) / 1_000_000n,
      creditedNetMinor: 0n,
      creditedTaxMinor: 0n,
      start: '2026-01-01',
      end: addDays('2026-01-01', days),
    } satisfies BilledLine,
    on: addDays('2026-01-01', Math.min(used, days - 1)),
  }))

const credited = (before: BilledLine, on: string): BilledLine => {
  const credit = creditFor([before], on)
  return {
    ...before,
    creditedNetMinor: before.creditedNetMinor + credit.netMinor,
    creditedTaxMinor: before.creditedTaxMinor + credit.taxMinor,
  }
}

describe('credit for unused time', () => {
  test('used and credited add up to what was billed, and the credit is within half a unit of the exact fraction', () => {
    fc.assert(
      fc.property(line, ({ line, on }) => {
        const credit = creditFor([line], on)
        expect(credit.usedMinor + credit.netMinor).toBe(line.netMinor)
        const length = BigInt(daysBetween(line.start, line.end))
        const remaining = BigInt(daysBetween(on, line.end))
        const twiceError = 2n * (credit.netMinor * length - line.netMinor * remaining)
        expect(twiceError > -length && twiceError <= length).toBe(true)
        expect(credit.taxMinor <= line.taxMinor).toBe(true)
      }),
    )
  })

  test('on the first day everything comes back, tax included', () => {
    fc.assert(
      fc.property(line, ({ line }) => {
        const credit = creditFor([line], line.start)
        expect(credit.netMinor).toBe(line.netMinor)
        if (line.netMinor > 0n) expect(credit.taxMinor).toBe(line.taxMinor)
        expect(credit.usedMinor).toBe(0n)
      }),
    )
  })

  test('repeated credits never exceed the line, in whatever order the days come', () => {
    fc.assert(
      fc.property(line, fc.array(fc.integer({ min: 0, max: 365 }), { maxLength: 5 }), ({ line }, days) => {
        let state: BilledLine = line
        for (const day of days) {
          state = credited(state, addDays(line.start, Math.min(day, daysBetween(line.start, line.end) - 1)))
          expect(state.creditedNetMinor <= line.netMinor).toBe(true)
          expect(state.creditedTaxMinor <= line.taxMinor).toBe(true)
        }
      }),
    )
  })

  test('there and back on one day costs nothing', () => {
    fc.assert(
      fc.property(
        line,
        fc.bigInt(0n, 10n ** 9n),
        fc.bigInt(0n, 10n ** 9n),
        fc.integer({ min: 0, max: 300_000 }),
        ({ line, on }, a, b, ratePpm) => {
          const period = daysBetween(line.start, line.end)
          const rates = [{ id: 't', name: 'T', ratePpm }]
          const bill = (price: bigint, from: string) => {
            const billDays = daysBetween(from, line.end)
            const item: Item = {
              kind: 'plan',
              itemId: 'p',
              description: '',
              quantity: 1,
              unitPriceMinor: price,
              fullMinor: price,
              start: from,
              end: line.end,
              billDays,
              periodDays: period,
            }
            const made = makeBill([item], undefined, rates)
            const [only] = made.lines
            return { ...line, ...only!, creditedNetMinor: 0n, creditedTaxMinor: 0n, start: from, end: line.end }
          }
          const gross = (of: { netMinor: bigint; taxMinor: bigint }) => of.netMinor + of.taxMinor
          const first = bill(a, on)
          const second = bill(b, on)
          const third = bill(a, on)
          // A was billed; to B: credit A, bill B; back to A: credit B, bill A.
          const paid = gross(second) - gross(creditFor([first], on)) + gross(third) - gross(creditFor([second], on))
          expect(paid).toBe(0n)
        },
      ),
    )
  })
})

test('what is still due is reduced before anything becomes money to spend', () => {
  const credit = {
    lines: [
      { invoiceId: 'a', lineNo: 1, netMinor: 100n, taxMinor: 19n },
      { invoiceId: 'b', lineNo: 1, netMinor: 50n, taxMinor: 0n },
    ],
    netMinor: 150n,
    taxMinor: 19n,
    usedMinor: 0n,
  }
  expect(offsetsOf(credit, new Map([['a', 60n]]))).toEqual([{ invoiceId: 'a', amountMinor: 60n }])
  expect(
    offsetsOf(
      credit,
      new Map([
        ['a', 200n],
        ['b', 10n],
      ]),
    ),
  ).toEqual([
    { invoiceId: 'a', amountMinor: 119n },
    { invoiceId: 'b', amountMinor: 10n },
  ])
})

test('lots are used oldest first and never beyond their balance', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt(0n, 1000n), { maxLength: 8 }), fc.bigInt(0n, 5000n), (balances, amount) => {
      const lots = balances.map((balanceMinor, i) => ({ id: String(i), balanceMinor }))
      const uses = useLots(lots, amount)
      const used = sum(uses.map(use => use.amountMinor))
      expect(used).toBe(sum(balances) < amount ? sum(balances) : amount)
      for (const use of uses) expect(use.amountMinor <= use.fromMinor).toBe(true)
      // All but the last are used up.
      for (const use of uses.slice(0, -1)) expect(use.amountMinor).toBe(use.fromMinor)
    }),
  )
})

test('the direction is judged by the price of a day', () => {
  expect(directionOf({ totalMinor: 12_000n, days: 30 }, { totalMinor: 120_000n, days: 365 })).toBe('upgrade')
  expect(directionOf({ totalMinor: 100n, days: 30 }, { totalMinor: 100n, days: 30 })).toBe('upgrade')
  expect(directionOf({ totalMinor: 99n, days: 30 }, { totalMinor: 100n, days: 30 })).toBe('downgrade')
})

describe('bills', () => {
  test('tax of lines adds up to the tax of the bill; discounts never exceed what they are taken off', () => {
    const item = fc.record({
      kind: fc.constantFrom('plan' as const, 'addon' as const, 'setup_fee' as const),
      fullMinor: fc.bigInt(0n, 10n ** 8n),
      billDays: fc.integer({ min: 1, max: 31 }),
    })
    const discount = fc.option(
      fc.record({
        applyTo: fc.constantFrom('total_amount' as const, 'subscription_amount' as const, 'addon_amount' as const),
        ppm: fc.option(fc.integer({ min: 0, max: 1_000_000 })),
        minor: fc.bigInt(0n, 10n ** 9n),
      }),
      { nil: undefined },
    )
    const rates = fc.array(fc.integer({ min: 0, max: 400_000 }), { maxLength: 3 })
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 8 }), discount, rates, (items, coupon, ppms) => {
        const bill = makeBill(
          items.map((one, i) => ({
            ...one,
            itemId: String(i),
            description: '',
            quantity: 1,
            unitPriceMinor: one.fullMinor,
            start: '2026-01-01',
            end: '2026-02-01',
            periodDays: 31,
          })),
          coupon,
          ppms.map(ratePpm => ({ id: '', name: '', ratePpm })),
        )
        expect(sum(bill.lines.map(one => one.taxMinor))).toBe(bill.taxMinor)
        expect(sum(bill.lines.map(one => one.netMinor))).toBe(bill.netMinor)
        for (const one of bill.lines) {
          expect(one.discountMinor >= 0n && one.netMinor >= 0n).toBe(true)
          expect(one.amountMinor - one.discountMinor).toBe(one.netMinor)
          if (one.kind === 'setup_fee') expect(one.discountMinor).toBe(0n)
        }
      }),
    )
  })
})
