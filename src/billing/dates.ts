/**
 * Billing dates are local dates of the business, written YYYY-MM-DD, so that they compare as text. A boundary of a
 * period is always computed from its anchor, never from the boundary before: 31 January, 28 February, 31 March.
 */
export type LocalDate = string
export type PeriodUnit = 'd' | 'w' | 'm' | 'y'

const unitNames = { d: 'days', w: 'weeks', m: 'months', y: 'years' } as const

const plain = (date: LocalDate) => Temporal.PlainDate.from(date)

/** Remembers the answers of a pure function of texts: a renewal run asks the same dates a thousand times. */
function remembered<T extends string | number>(make: (...of: string[]) => T): (...of: string[]) => T {
  const known = new Map<string, T>()
  return (...of) => {
    const key = of.join('|')
    let value = known.get(key)
    if (value === undefined) {
      if (known.size >= 10_000) known.clear()
      value = make(...of)
      known.set(key, value)
    }
    return value
  }
}

const added = remembered((date, unit, count) =>
  plain(date!)
    .add({ [unitNames[unit as PeriodUnit]]: Number(count) }, { overflow: 'constrain' })
    .toString(),
)

/** `steps` periods of `count` units after the anchor; the day is clamped to the end of its month. */
export const boundary = (anchor: LocalDate, unit: PeriodUnit, count: number, steps: number): LocalDate =>
  added(anchor, unit, String(count * steps))

export const addDays = (date: LocalDate, days: number): LocalDate => added(date, 'd', String(days))
export const addYears = (date: LocalDate, years: number): LocalDate => added(date, 'y', String(years))

const between = remembered((from, to) => plain(from!).until(plain(to!)).days)
/** Whole days from one date to the other; negative when it lies before. */
export const daysBetween = (from: LocalDate, to: LocalDate): number => between(from, to)

const dateOf = remembered((ms, timeZone) =>
  Temporal.Instant.fromEpochMilliseconds(Number(ms)).toZonedDateTimeISO(timeZone!).toPlainDate().toString(),
)
/** The date it is in the zone at that instant. */
export const localDate = (instant: Date, timeZone: string): LocalDate => dateOf(String(instant.getTime()), timeZone)

const isoTexts = new Map<number, string>()
/** As JSON has it; remembered, because the moments of a renewal run are few. */
export function isoText(at: Date): string {
  const ms = at.getTime()
  const known = isoTexts.get(ms)
  if (known !== undefined) return known
  if (isoTexts.size >= 10_000) isoTexts.clear()
  const text = at.toISOString()
  isoTexts.set(ms, text)
  return text
}

const midnight = remembered((date, timeZone) => plain(date!).toZonedDateTime(timeZone!).epochMilliseconds)
/** The first instant of the day in the zone; after a gap at midnight, the first that exists. */
export const startOfDay = (date: LocalDate, timeZone: string): Date => new Date(midnight(date, timeZone))

export const paymentTerms = ['net0', 'net15', 'net30', 'net45', 'net60', 'neteom', 'neteonm'] as const
export type PaymentTerm = (typeof paymentTerms)[number]

export function dueDate(issued: LocalDate, term: PaymentTerm): LocalDate {
  const date = plain(issued)
  if (term === 'neteom') return date.with({ day: date.daysInMonth }).toString()
  if (term === 'neteonm') {
    const next = date.with({ day: 1 }).add({ months: 1 })
    return next.with({ day: next.daysInMonth }).toString()
  }
  return addDays(issued, Number(term.slice('net'.length)))
}

/** The last instant of the due date: an invoice is overdue after it. */
export const dueMoment = (issued: LocalDate, term: PaymentTerm, timeZone: string): Date =>
  new Date(startOfDay(addDays(dueDate(issued, term), 1), timeZone).getTime() - 1)
