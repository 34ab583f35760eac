import type { EventType } from '../../platform/events.ts'
import { invalidField } from '../../platform/problem.ts'

/** What this copy can tell, of all its services. */
export interface CatalogueEntry extends EventType {
  service: string
}
export type Catalogue = () => readonly CatalogueEntry[]

/** Refuses types that no service emits, naming the ones there are: a misspelt type would wait for ever. */
export function checkTypes(catalogue: Catalogue, types: readonly string[], field: string): void {
  const known = new Set(catalogue().map(entry => entry.type))
  const unknown = types.find(type => type !== '*' && !known.has(type))
  if (unknown !== undefined)
    throw invalidField(field, `names "${unknown}", which is not among * (all), ${[...known].sort().join(', ')}`)
}
