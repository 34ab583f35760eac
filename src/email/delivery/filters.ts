/** The filters that templates may use: short, bounded in output, and free of anything but text. */
export type Filter = (value: unknown, ...parameters: unknown[]) => unknown

const longestResult = 10_000
const bounded = (text: string) => (text.length > longestResult ? text.slice(0, longestResult) : text)

/** What an output tag prints for a value. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return bounded(value.map(textOf).join(', '))
  if (typeof value === 'object') return ''
  return String(value)
}

export const isBlank = (value: unknown) =>
  value === null ||
  value === undefined ||
  value === false ||
  value === '' ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0)

const text =
  (change: (text: string, ...parameters: string[]) => string): Filter =>
  (value, ...parameters) =>
    bounded(change(textOf(value), ...parameters.map(textOf)))

const wholeNumber = (value: unknown, fallback: number) => {
  const number = Number(textOf(value))
  return Number.isFinite(number) ? Math.trunc(number) : fallback
}

export const filters: Readonly<Record<string, Filter>> = {
  default: (value, fallback) => (isBlank(value) ? fallback : value),
  upcase: text(value => value.toUpperCase()),
  downcase: text(value => value.toLowerCase()),
  capitalize: text(value => value.charAt(0).toUpperCase() + value.slice(1)),
  strip: text(value => value.trim()),
  append: text((value, more = '') => value + more),
  prepend: text((value, more = '') => more + value),
  remove: text((value, part = '') => (part === '' ? value : value.replaceAll(part, ''))),
  replace: text((value, part = '', other = '') => (part === '' ? value : value.replaceAll(part, () => other))),
  truncate: (value, length, ellipsis = '...') => truncate(textOf(value), wholeNumber(length, 50), textOf(ellipsis)),
  url_encode: text(value => encodeURIComponent(value.toWellFormed())),
  // Every output is escaped for its place already; a template that asks for it must not get it twice.
  escape: value => value,
  size: value => (Array.isArray(value) || typeof value === 'string' ? value.length : 0),
  first: value => (Array.isArray(value) ? value[0] : textOf(value).charAt(0)),
  last: value => (Array.isArray(value) ? value.at(-1) : textOf(value).slice(-1)),
  join: (value, between = ' ') =>
    Array.isArray(value) ? bounded(value.map(textOf).join(textOf(between))) : textOf(value),
  round: (value, digits) => {
    const number = Number(textOf(value))
    const places = Math.min(Math.max(wholeNumber(digits, 0), 0), 10)
    return Number.isFinite(number) ? Number(number.toFixed(places)) : value
  },
  date: (value, format) => formatDate(value, textOf(format)),
}

function truncate(value: string, length: number, ellipsis: string): string {
  const kept = Math.max(0, length - ellipsis.length)
  return [...value].length <= length ? value : [...value].slice(0, kept).join('') + ellipsis
}

const monthNames = 'January February March April May June July August September October November December'.split(' ')
const dayNames = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const two = (number: number) => String(number).padStart(2, '0')

/** strftime without widths: padding given by a template once made a kilobyte ask for gigabytes elsewhere. */
function formatDate(value: unknown, format: string): unknown {
  const date = value instanceof Date ? value : new Date(textOf(value))
  if (isBlank(value) || Number.isNaN(date.getTime())) return value
  const parts: Record<string, string> = {
    Y: String(date.getUTCFullYear()),
    y: two(date.getUTCFullYear() % 100),
    m: two(date.getUTCMonth() + 1),
    d: two(date.getUTCDate()),
    e: String(date.getUTCDate()),
    B: monthNames[date.getUTCMonth()] ?? '',
    b: (monthNames[date.getUTCMonth()] ?? '').slice(0, 3),
    A: dayNames[date.getUTCDay()] ?? '',
    a: (dayNames[date.getUTCDay()] ?? '').slice(0, 3),
    H: two(date.getUTCHours()),
    M: two(date.getUTCMinutes()),
    S: two(date.getUTCSeconds()),
    '%': '%',
  }
  return bounded(
    (format || '%Y-%m-%d').replaceAll(/%(-?)([A-Za-z%])/g, (whole, dash: string, letter: string) => {
      const part = parts[letter]
      return part === undefined ? whole : dash ? part.replace(/^0(?=\d)/, '') : part
    }),
  )
}
