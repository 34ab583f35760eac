/**
 * PostgreSQL keeps neither the null character nor half of a surrogate pair, in text or in JSON. What comes from the
 * platform or a caller is kept with the replacement character there, instead of failing as a whole.
 */
export const storable = <T>(value: T): T => (isStorable(value) ? value : mended(value))

const isStorableText = (text: string) => text.isWellFormed() && !text.includes('\u0000')

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value)
  if (Array.isArray(value)) return value.every(isStorable)
  if (typeof value !== 'object' || value === null || value instanceof Date) return true
  for (const [name, item] of Object.entries(value)) if (!isStorableText(name) || !isStorable(item)) return false
  return true
}

function mended<T>(value: T): T {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '\ufffd') as T
  if (Array.isArray(value)) return value.map(mended) as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [mended(name), mended(item)])) as T
}
