/**
 * Runs statements of a transaction in the order given, without waiting for one before the next is sent. When one fails,
 * those after it fail too, only because of it: so the first failure is the one that is told.
 */
export async function inOneTrip(statements: readonly (() => PromiseLike<unknown>)[]): Promise<void> {
  const ends = await Promise.allSettled(statements.map(async statement => await statement()))
  const failed = ends.find(end => end.status === 'rejected')
  if (failed) throw failed.reason
}

/** For a statement that is not always needed: `...when(rows.length > 0, () => save(rows))`. */
export const when = <T>(needed: boolean, statement: () => T): (() => T)[] => (needed ? [statement] : [])
