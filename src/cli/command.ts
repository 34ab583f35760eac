import type { House } from '../house.ts'
import type { Config } from '../platform/config.ts'

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
