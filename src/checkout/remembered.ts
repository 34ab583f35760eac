/** Remembers the answers of a pure function of a text; when there are too many it begins anew. */
export function remembered<T>(make: (key: string) => T, most = 1_000): (key: string) => T {
  const known = new Map<string, T>()
  return key => {
    let value = known.get(key)
    if (value === undefined) {
      if (known.size >= most) known.clear()
      value = make(key)
      known.set(key, value)
    }
    return value
  }
}
