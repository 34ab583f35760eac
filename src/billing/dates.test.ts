import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundary, daysBetween, dueDate, dueMoment, localDate, type PeriodUnit, startOfDay } from './dates.ts'

describe('period boundaries', () => {
  test('are computed from the anchor', () => {
    expect([0, 1, 2, 3, 4].map(k => boundary('2026-01-31', 'm', 1, k))).toEqual([
      '2026-01-31',
      '2026-02-28',
      '2026-03-31',
      '2026-04-30',
      '2026-05-31',
    ])
    expect([1, 2, 3, 4].map(k => boundary('2028-02-29', 'y', 1, k))).toEqual([
      '2029-02-28',
      '2030-02-28',
      '2031-02-28',
      '2032-02-29',
    ])
    expect(boundary('2026-01-31', 'w', 2, 3)).toBe('2026-03-14')
  })

  /** Civil dates by hand, without Temporal: the oracle for months and years. */
  const byHand = (anchor: string, months: number) => {
    const [year = 0, month = 0, day = 0] = anchor.split('-').map(Number)
    const total = year * 12 + month - 1 + months
    const [y, m] = [Math.floor(total / 12), (total % 12) + 1]
    const leap = (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0
    const length = m === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(m) ? 30 : 31
    return `${y}-${String(m).padStart(2, '0')}-${String(Math.min(day, length)).padStart(2, '0')}`
  }

  test('equal civil arithmetic for every day of month over fifty years, and never go back', () => {
    for (let day = 1; day <= 31; day++) {
      const anchor = `2024-01-${String(day).padStart(2, '0')}`
      let before = ''
      for (let k = 0; k <= 600; k++) {
        const found = boundary(anchor, 'm', 1, k)
        expect(found).toBe(byHand(anchor, k))
        expect(found > before).toBe(true)
        before = found
      }
    }
  })

  test('tile time in every zone: each starts where the one before ends', () => {
    const zones = Intl.supportedValuesOf('timeZone')
    fc.assert(
      fc.property(
        fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true }),
        fc.constantFrom<PeriodUnit>('d', 'w', 'm', 'y'),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 100 }),
        fc.constantFrom(...zones),
        (instant, unit, count, k, zone) => {
          const anchor = localDate(instant, zone)
          const [start, end] = [boundary(anchor, unit, count, k), boundary(anchor, unit, count, k + 1)]
          const [from, to] = [startOfDay(start, zone), startOfDay(end, zone)]
          expect(from < to).toBe(true)
          expect(localDate(from, zone)).toBe(start)
          // The millisecond before the boundary still belongs to the period.
          expect(localDate(new Date(to.getTime() - 1), zone) < end).toBe(true)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('payment terms', () => {
  const expected = {
    net0: ['2026-01-31', '2028-01-15'],
    net15: ['2026-02-15', '2028-01-30'],
    net30: ['2026-03-02', '2028-02-14'],
    net45: ['2026-03-17', '2028-02-29'],
    net60: ['2026-04-01', '2028-03-15'],
    neteom: ['2026-01-31', '2028-01-31'],
    neteonm: ['2026-02-28', '2028-02-29'],
  } as const
  for (const [term, [first, second]] of Object.entries(expected))
    test(term, () => {
      expect(dueDate('2026-01-31', term as keyof typeof expected)).toBe(first)
      expect(dueDate('2028-01-15', term as keyof typeof expected)).toBe(second)
    })

  test('the due moment is the last instant of that day in the zone', () => {
    expect(dueMoment('2026-01-31', 'net0', 'UTC').toISOString()).toBe('2026-01-31T23:59:59.999Z')
    expect(dueMoment('2026-01-31', 'net0', 'America/New_York').toISOString()).toBe('2026-02-01T04:59:59.999Z')
  })
})

test('midnight that does not exist begins at the first instant that does', () => {
  // In 2018 Brazil moved its clocks at midnight.
  expect(startOfDay('2018-11-04', 'America/Sao_Paulo').toISOString()).toBe('2018-11-04T03:00:00.000Z')
  expect(daysBetween('2026-03-01', '2026-04-01')).toBe(31)
})
