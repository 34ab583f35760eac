import type { Db } from '../platform/database.ts'
import * as store from './store.ts'

/** What a contact counts for. Lists filtered by one of these take their total from here, exact at any size. */
export interface Counted {
  optin: boolean
  source: string
  incomingBlocked: boolean
  tags: readonly string[]
  list: readonly string[]
}

export const tallyNames = {
  contacts: 'contacts',
  conversations: 'conversations',
  optin: (value: boolean) => `optin:${value}`,
  source: (value: string) => `source:${value}`,
  blocked: (value: boolean) => `blocked:${value}`,
  tag: (name: string) => `tag:${name}`,
  list: (name: string) => `list:${name}`,
}

export function talliesOf(contact: Counted): string[] {
  return [
    tallyNames.contacts,
    tallyNames.optin(contact.optin),
    tallyNames.source(contact.source),
    tallyNames.blocked(contact.incomingBlocked),
    ...contact.tags.map(tallyNames.tag),
    ...contact.list.map(tallyNames.list),
  ]
}

/** Adds what appeared and takes away what vanished, in the transaction of the change. */
export async function countContacts(
  db: Db,
  businessId: string,
  changes: { before?: Counted; after?: Counted }[],
): Promise<void> {
  const deltas = new Map<string, number>()
  const add = (name: string, by: number) => deltas.set(name, (deltas.get(name) ?? 0) + by)
  for (const { before, after } of changes) {
    if (after) for (const name of talliesOf(after)) add(name, 1)
    if (before) for (const name of talliesOf(before)) add(name, -1)
  }
  // Sorted, so that two writers take the rows in one order and cannot wait for each other in a circle.
  const changed = [...deltas].filter(([, delta]) => delta !== 0).sort(([a], [b]) => (a < b ? -1 : 1))
  if (changed.length > 0) await store.addToTallies(db, businessId, changed)
}
