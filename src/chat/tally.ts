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
  const groups = new Map<string, store.GroupDelta>()
  const add = (name: string, by: number) => deltas.set(name, (deltas.get(name) ?? 0) + by)
  const count = (contact: Counted, by: number) => {
    for (const name of talliesOf(contact)) add(name, by)
    const { optin, source, incomingBlocked, tags, list } = contact
    const key = JSON.stringify([optin, source, incomingBlocked, tags, list])
    const delta = (groups.get(key)?.delta ?? 0) + by
    groups.set(key, { optin, source, incomingBlocked, tags, list, delta })
  }
  for (const { before, after } of changes) {
    if (after) count(after, 1)
    if (before) count(before, -1)
  }
  const totals = [...deltas].filter(([, delta]) => delta !== 0)
  const moved = [...groups.values()].filter(({ delta }) => delta !== 0)
  if (totals.length + moved.length > 0) await store.countChanges(db, businessId, { totals, groups: moved })
}
