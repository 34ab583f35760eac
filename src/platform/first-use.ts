import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** A large library that many starts never need: loaded at its first use, so that an idle program stays small. */
export function onFirstUse<T>(name: string): () => T {
  let loaded: T | undefined
  return () => {
    loaded ??= require(name) as T
    return loaded
  }
}
