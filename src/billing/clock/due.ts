import { businessById, clockIsSet } from '../../accounts/store.ts'
import type { Business } from '../../platform/business.ts'
import { nowFor, type TimeKeeper } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/database.ts'
import { type Loop, pause } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Context } from '../context.ts'
import { write } from '../deed.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import * as invoices from '../invoices/store.ts'
import { sceneOf } from '../scene.ts'
import { giveUp } from '../subscriptions/dunning.ts'
import { remind } from '../subscriptions/remind.ts'
import { renewDue } from '../subscriptions/renew.ts'
import type { SubscriptionRow } from '../subscriptions/store.ts'
import * as subscriptions from '../subscriptions/store.ts'
import { chargeDue } from './charge-due.ts'
import { reconcile } from './reconcile.ts'
import * as store from './store.ts'

/** Everything that happens by itself: one function for a test clock that is moved and for the world's time that passes. */

const maxRounds = 1_000
const waitMs = 20

/**
 * Does everything due at or before now, in the order in which it depends on each other: what became of open payments,
 * then new terms, then charges for them. Rows that another process holds are waited for, so that nothing due is left.
 */
export async function runDue(context: Context): Promise<void> {
  const { db, business, now } = context
  for (let round = 0; round < maxRounds; round++) {
    const due = await store.nextDue(db, business.id)
    if (!due || due > now) return
    const done =
      (await reconcile(context)) +
      (await renewDue(context)) +
      (await chargeDue(context)) +
      (await markOverdue(context)) +
      (await remind(context))
    if (done === 0) await pause(waitMs)
  }
  throw new Error(`Something stays due in business ${business.id}.`)
}

async function markOverdue(context: Context): Promise<number> {
  const { db, business, now } = context
  const found = await store.overdueInvoices(db, business.id, now, 1_000)
  for (const { id, subscriptionId } of found)
    await db.begin(async tx => {
      const row = await subscriptions.lockSubscription(tx, business.id, subscriptionId)
      const invoice = await invoices.lockInvoice(tx, business.id, id)
      if (row && invoice?.status === 'sent' && invoice.chargeAt === null && invoice.dueAt < now)
        await chase(tx, context, row, invoice)
    })
  return found.length
}

async function chase(tx: Tx, context: Context, row: SubscriptionRow, invoice: InvoiceRow): Promise<void> {
  const scene = await sceneOf(tx, context, { subscriptions: [row], invoices: [invoice], changes: [] })
  giveUp(scene, row, invoice)
  await write(tx, context, scene.deed)
}

/** Makes a business known to the workers; from then on it is looked at within the hour, whatever happens. */
export const noteDue = (db: Db, business: Business) => store.ensureDue(db, business.id)

const contextFor = async (platform: Platform, businessId: string, now?: Date): Promise<Context | undefined> => {
  const business = await businessById(platform.db, businessId)
  return (
    business && {
      platform,
      db: platform.db,
      business,
      now: now ?? (await nowFor(platform.db, business)),
      source: 'scheduler',
    }
  )
}

export const billingKeeper = (platform: Platform): TimeKeeper => ({
  name: 'billing',
  nextDue: store.nextDue,
  async run(businessId, now) {
    const context = await contextFor(platform, businessId, now)
    if (context) await runDue(context)
  },
})

const idleMs = 2_000
const hourMs = 3_600_000

/** Businesses in the world's time. One in test mode whose clock was set stands still until it is moved. */
export const dueLoop = (platform: Platform): Loop => ({
  name: 'billing due',
  async run(signal) {
    while (!signal.aborted) {
      const taken = await store.takeDue(platform.db)
      if (!taken) {
        await pause(idleMs, signal)
        continue
      }
      const context = await contextFor(platform, taken.businessId)
      if (!context || (await clockIsSet(platform.db, taken.businessId))) continue
      await runDue(context)
      const next = await store.nextDue(platform.db, taken.businessId)
      const ceiling = new Date(context.now.getTime() + hourMs)
      await store.noteDue(platform.db, taken.businessId, next && next < ceiling ? next : ceiling)
    }
  },
})
