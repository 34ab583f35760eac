import { setTimeout } from 'node:timers/promises'
import type { TimeKeeper } from '../../platform/clock.ts'
import { does, type Loop, queue, type Work } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { createEngine } from './engine.ts'
import * as store from './store-jobs.ts'

/** Takes queued mail to the receiving servers, in every process that works. */
export const sendingLoop = (platform: Platform): Loop => ({
  name: 'email_sending',
  run: signal => createEngine(platform).run(signal),
})

/** With a test clock, deferred mail is tried again when the clock comes to it. */
export const sendingKeeper = (platform: Platform): TimeKeeper => ({
  name: 'email_sending',
  nextDue: (db, businessId) => store.nextDeferral(db, businessId),
  run: async businessId => void (await createEngine(platform).drain(businessId)),
})

/** Sends what is queued, and waits for what the workers already hold: who moved a test clock then finds it done. */
export async function sendAllQueued(platform: Platform, businessId: string): Promise<void> {
  await createEngine(platform).drain(businessId)
  const patience = performance.now() + 10_000
  while ((await store.hasOpenBlock(platform.db, businessId)) && performance.now() < patience) await setTimeout(20)
}

const tidySending = queue<object>('email_tidy_sending')

export const sendingWork = (platform: Platform): Work[] => [
  does(tidySending, () => tidy(platform), { cron: '*/5 * * * *' }),
]

/** Nothing should ever fall out of the table of due businesses; if it did, this finds it. And the outbox stays small. */
async function tidy({ db }: Platform): Promise<void> {
  await store.rememberBusinesses(db)
  await store.trimOutbox(db, { days: 30 })
}
