import type { Tx } from '../../platform/database.ts'
import { conflict, unprocessable } from '../../platform/problem.ts'
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

/** Without it the campaign would go to fewer people, or to more, in silence. */
export async function requireUnscheduled(
  tx: Tx,
  businessId: string,
  { id, kind, name }: { id: string; kind: store.NameKind; name: string },
): Promise<void> {
  const campaign = await store.scheduledWith(tx, businessId, id)
  if (campaign)
    throw unprocessable(
      `${kind}_in_use`,
      `The campaign "${campaign.name}" is scheduled for the ${kind} "${name}". Change the campaign or make it a draft first.`,
    )
}

export const releaseNames = store.freeNames
