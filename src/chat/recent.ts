/** Nothing remembered is older than this, so a change holds everywhere within a second. */
const keptMs = 800
/** However often strangers make us doubt it, it is not read more often than this. */
const certainMs = 50
const maxEntries = 10_000

/** Remembers what was read for a moment, so that a busy business does not read its settings for every message. */
export function remember<T>(load: (key: string) => Promise<T>) {
  const kept = new Map<string, { at: number; value: Promise<T> }>()
  return {
    get(key: string): Promise<T> {
      const known = kept.get(key)
      const now = performance.now()
      if (known && now - known.at < keptMs) return known.value
      if (kept.size >= maxEntries) kept.clear()
      const value = load(key)
      // A failed read is not remembered: the database may be back with the next one.
      value.catch(() => kept.delete(key))
      kept.set(key, { at: now, value })
      return value
    },
    forget: (key: string) => void kept.delete(key),
    /** Whether what is remembered was read a moment ago; if not, the next `get` reads anew. */
    doubt(key: string): boolean {
      const known = kept.get(key)
      if (known && performance.now() - known.at < certainMs) return false
      kept.delete(key)
      return true
    },
  }
}
