import type { Tx } from '../../platform/database.ts'
import { conflict } from '../../platform/problem.ts'
import * as store from './store-names.ts'

/** Lists and segments share one space of names, so that a filter by name means one thing. */
export async function claimName(
  tx: Tx,
  businessId: string,
  wanted: { name: string; kind: store.NameKind; objectId: string },
): Promise<void> {
  if (await store.takeName(tx, businessId, wanted)) return
  const owner = await store.ownerOf(tx, businessId, wanted.name)
  if (owner?.objectId === wanted.objectId) return
  throw conflict(
    `${wanted.kind}_name_taken`,
    `A ${owner?.kind ?? wanted.kind} is already named "${wanted.name}". Lists and segments share their names; choose another.`,
    [{ field: 'name', message: 'is already taken' }],
  )
}

/** Keeps a name that only changes its letters' case. */
export async function renameTo(
  tx: Tx,
  businessId: string,
  wanted: { name: string; kind: store.NameKind; objectId: string },
): Promise<void> {
  await claimName(tx, businessId, wanted)
  await store.freeOtherNames(tx, businessId, wanted)
}

export const releaseNames = store.freeNames
