import type { Platform } from '../platform/platform.ts'
import * as store from './store.ts'

/** Recounts every running total; answers each that differs. */
export async function auditChat({ db }: Platform, businessId: string): Promise<string[]> {
  const kept = new Map((await store.allTallies(db, businessId)).map(row => [row.name, row.count]))
  const found = new Map((await store.recountTallies(db, businessId)).map(row => [row.name, row.count]))
  return [...new Set([...kept.keys(), ...found.keys()])]
    .filter(name => (kept.get(name) ?? 0) !== (found.get(name) ?? 0))
    .map(name => `chat: ${name} is kept as ${kept.get(name) ?? 0}, counted ${found.get(name) ?? 0}`)
}
