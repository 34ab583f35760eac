import { emit } from '../../platform/events.ts'
import { type Context, eventOf } from '../context.ts'
import { showWith, surroundingsOf } from './show.ts'
import { takeReminders } from './store-renewal.ts'

const batchSize = 1_000

/** Tells that renewals are near. */
export async function remind(context: Context): Promise<number> {
  const { db, business, now } = context
  for (let done = 0; ; ) {
    const count = await db.begin(async tx => {
      const rows = await takeReminders(tx, business.id, now, batchSize)
      if (rows.length === 0) return 0
      const around = await surroundingsOf(tx, business.id, rows)
      await emit(tx, ...rows.map(row => eventOf(context, 'subscription_about_to_renew', row.id, showWith(row, around))))
      return rows.length
    })
    if (count === 0) return done
    done += count
  }
}
