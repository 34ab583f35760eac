import type { Db, Tx } from '../../platform/database.ts'
import { unprocessable } from '../../platform/problem.ts'
import { hold, resolve } from '../lists/store-names.ts'
import type { Audience } from '../subscribers/audience.ts'

/** Ids or names of lists and segments; what does not exist is refused by name, because mailing fewer in silence would be worse. */
export async function resolveAudience(
  db: Db,
  businessId: string,
  given: { included: readonly string[]; excluded: readonly string[] },
): Promise<Audience> {
  const wanted = [...new Set([...given.included, ...given.excluded].map(name => name.trim()))]
  const found = await resolve(db, businessId, wanted)
  const missing = wanted.filter(name => !found.some(one => one.given === name))
  if (missing.length > 0)
    throw unprocessable(
      'list_not_found',
      `There is no list or segment ${missing
        .slice(0, 5)
        .map(name => `"${name}"`)
        .join(', ')}.`,
      [
        {
          field: 'includedList',
          message: `must name existing lists or segments; unknown: ${missing.slice(0, 20).join(', ')}`,
        },
      ],
    )
  const ids = (names: readonly string[], kind: string) => [
    ...new Set(
      found.filter(one => one.kind === kind && names.some(name => name.trim() === one.given)).map(one => one.id),
    ),
  ]
  return {
    includedListIds: ids(given.included, 'list'),
    includedSegmentIds: ids(given.included, 'segment'),
    excludedListIds: ids(given.excluded, 'list'),
    excludedSegmentIds: ids(given.excluded, 'segment'),
  }
}

/** Lists and segments of a draft may have been deleted since; those of a scheduled campaign can't be. */
export async function holdAudience(tx: Tx, businessId: string, audience: Audience): Promise<void> {
  const lists = [...audience.includedListIds, ...audience.excludedListIds]
  const segments = [...audience.includedSegmentIds, ...audience.excludedSegmentIds]
  const held = new Set((await hold(tx, businessId, { lists, segments })).map(one => one.id))
  if ([...lists, ...segments].some(id => !held.has(id)))
    throw unprocessable('list_not_found', 'A list or segment of this campaign was deleted. Name its lists anew.', [
      { field: 'lists', message: 'must name existing lists or segments' },
    ])
}
