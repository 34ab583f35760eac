import type { Db } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { type Item, leave, mayStart } from './batch.ts'
import { mergeDataOf, renderTemplate } from './compile-message.ts'
import { mergeDataFor } from './merge-data.ts'
import type { Outcomes } from './outcomes.ts'
import type { SendContext } from './send-context.ts'
import * as store from './store-work.ts'
import { tokensOf } from './tokens.ts'

const rowsPerInsert = 100

/** Mail of a business without a delivery server is kept to be looked at, and none leaves the machine by accident. */
export async function captureInOutbox(
  platform: Pick<Platform, 'config' | 'secrets'>,
  db: Db,
  outcomes: Outcomes,
  send: SendContext,
  items: readonly Item[],
  now: (businessId: string) => Date,
): Promise<void> {
  const message = await send.messageFor(undefined)
  const { config, secrets } = platform
  for (let from = 0; from < items.length; from += rowsPerInsert) {
    const some = items.slice(from, from + rowsPerInsert)
    if (!some.every(item => mayStart(item.batch))) {
      for (const item of items.slice(from)) leave(item)
      return
    }
    const rows = some.map(({ person }) => {
      const { deliveryId, email } = person
      const tokens = tokensOf(secrets, { businessId: send.businessId, deliveryId })
      const data = mergeDataFor(person)
      const recipient = { deliveryId, email, trackToken: tokens.track, unsubscribeToken: tokens.unsubscribe, data }
      mergeDataOf(recipient, config.publicUrl)
      const at = now(send.businessId)
      const filled = message.fill(recipient, at, Buffer.alloc(0))
      return {
        deliveryId,
        envelopeFrom: `b+${tokens.bounce}@${config.mailDomain}`,
        email,
        subject: renderTemplate(send.row.subject, data),
        message: filled.buffer.subarray(0, filled.length),
        at,
      }
    })
    // The message first: a crash between the two captures it again, under the same key.
    await store.insertOutbox(db, send.businessId, rows)
    await Promise.all(
      some.map(item =>
        outcomes.sent(item, { reply: { code: 250, text: '2.0.0 captured in the outbox' }, serverId: null }),
      ),
    )
  }
}
