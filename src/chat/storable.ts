/**
 * PostgreSQL keeps neither the null character nor half of a surrogate pair, in text or in JSON. What comes from the
 * platform or a caller is kept with the replacement character there, instead of failing as a whole.
 */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '\ufffd') as T
  if (Array.isArray(value)) return value.map(storable) as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [storable(name), storable(item)])) as T
}
