import { businessById } from '../accounts/store.ts'
import type { House } from '../house.ts'
import type { Business } from '../platform/business.ts'
import type { Config } from '../platform/config.ts'
import type { Db } from '../platform/database.ts'

/** What a command gets. It opens the house only when it needs one, and it is closed for it. */
export interface Console {
  args: string[]
  config: Config
  print(text: string): void
  withHouse<T>(run: (house: House) => Promise<T>): Promise<T>
}

export interface Command {
  usage: string
  run(console: Console): Promise<void>
}

/** The command was called wrongly; the message says how to call it. */
export class UsageError extends Error {}

/** A mistyped id must not look like a business without keys, mail or faults. */
export async function requireBusiness(db: Db, id: string): Promise<Business> {
  const business = await businessById(db, id)
  if (!business) throw new UsageError(`There is no business ${id}.`)
  return business
}
