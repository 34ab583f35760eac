import type { Business } from '../../platform/business.ts'
import type { Tx } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { tellMessages } from '../events.ts'
import { followReportedFailures } from '../messages/fail-later.ts'
import type { MessageRow } from '../messages/store.ts'
import { applyReport, belongs, type StatusReport } from './statuses.ts'
import * as store from './store.ts'
import { lockReported, saveReported } from './store-statuses.ts'

const eventOf = {
  sent: { type: 'message_sent', at: 'sentAt' },
  delivered: { type: 'message_delivered', at: 'deliveredAt' },
  read: { type: 'message_read', at: 'readAt' },
  failed: { type: 'message_failed', at: 'failedAt' },
} as const

/** Applies many reports at once; those of messages nobody knows yet are kept until the message is known. */
export async function applyStatuses(
  platform: Platform,
  tx: Tx,
  business: Business,
  reports: readonly StatusReport[],
  now: Date,
): Promise<void> {
  if (reports.length === 0) return
  const before = await lockReported(tx, business.id, {
    platformIds: [...new Set(reports.map(report => report.platformId))],
    ids: [...new Set(reports.flatMap(report => report.messageId ?? []))],
  })
  const byPlatformId = new Map(
    before.flatMap(message => (message.platformId ? [[message.platformId, message.id]] : [])),
  )
  const after = new Map(before.map(message => [message.id, message]))
  const unmatched: StatusReport[] = []
  for (const report of reports) {
    const id = byPlatformId.get(report.platformId) ?? report.messageId
    const message = id === undefined ? undefined : after.get(id)
    if (!message || !belongs(message, report)) {
      unmatched.push(report)
      continue
    }
    after.set(message.id, applyReport(message, report))
    byPlatformId.set(report.platformId, message.id)
  }
  const changed = before.filter(message => differs(message, after.get(message.id)!))
  if (changed.length > 0)
    await saveReported(
      tx,
      business.id,
      changed.map(message => after.get(message.id)!),
      now,
    )
  await tell(
    platform,
    tx,
    business,
    changed.map(message => [message, after.get(message.id)!] as const),
    now,
  )
  if (unmatched.length > 0) await store.parkStatuses(tx, business.id, unmatched, now)
}

const times = ['sentAt', 'deliveredAt', 'readAt', 'failedAt'] as const
const differs = (a: MessageRow, b: MessageRow) =>
  a.status !== b.status ||
  a.platformId !== b.platformId ||
  a.pricing !== b.pricing ||
  times.some(time => a[time]?.getTime() !== b[time]?.getTime())

/** One event for each thing that was not known before. */
async function tell(
  platform: Platform,
  tx: Tx,
  business: Business,
  changes: readonly (readonly [MessageRow, MessageRow])[],
  now: Date,
): Promise<void> {
  for (const status of ['sent', 'delivered', 'read', 'failed'] as const) {
    const { type, at } = eventOf[status]
    const news = changes
      .filter(([before, after]) => before[at] === null && after[at] !== null)
      .filter(([, after]) => status !== 'failed' || after.status === 'failed')
      .map(([, after]) => after)
    await tellMessages(tx, business, { type, source: 'channel', now }, news)
    if (status === 'failed') await followReportedFailures(platform, tx, business, news, now)
  }
}
