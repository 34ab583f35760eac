import type { Static } from 'typebox'
import type { Db } from '../../platform/database.ts'
import type { BroadcastSchema } from './schema.ts'
import * as store from './store.ts'

type Shown = Static<typeof BroadcastSchema>

/** Counted from the messages themselves (and those of people who were deleted since), so the report is always what happened. */
export async function shownBroadcasts(
  db: Db,
  businessId: string,
  rows: readonly store.BroadcastRow[],
): Promise<Shown[]> {
  const counts = await store.countByStatus(
    db,
    businessId,
    rows.map(row => row.id),
  )
  return rows.map(row => {
    const count = (...statuses: string[]) =>
      counts
        .filter(one => one.broadcastId === row.id && statuses.includes(one.status))
        .reduce(
          (sum, one) => sum + one.count,
          statuses.reduce((sum, status) => sum + (row.forgotten[status] ?? 0), 0),
        )
    const { templateName, languageCode, lists, tags, parameters } = row.request
    return {
      _id: row.id,
      name: row.name,
      templateName,
      languageCode,
      lists,
      tags,
      parameters,
      status: row.status,
      pauseReason: row.pauseReason,
      report: {
        audience: row.audience,
        skipped: row.skipped,
        queued: count('queued', 'sending'),
        accepted: count('accepted'),
        sent: count('sent'),
        delivered: count('delivered'),
        read: count('read'),
        failed: count('failed'),
        unknown: count('unknown'),
        cancelled: count('cancelled'),
      },
      scheduledAt: row.scheduledAt,
      startedAt: row.startedAt,
      createdAt: row.createdAt,
      updatedAt: row.updatedAt,
      finishedAt: row.finishedAt,
    }
  })
}

export const shownBroadcast = async (db: Db, businessId: string, row: store.BroadcastRow): Promise<Shown> =>
  (await shownBroadcasts(db, businessId, [row]))[0]!
