import { type Item, leave } from './batch.ts'
import { classify, isOurs, type ReplyClass } from './classify.ts'
import { deferralMs, patienceMs } from './defer.ts'
import type { ResultLog } from './result-log.ts'
import type { SmtpReply } from './smtp-replies.ts'
import type { FinalRow } from './store-work.ts'

/** Turns what happened to an item into its durable result. */
export interface Outcomes {
  sent(item: Item, result: { reply: SmtpReply; serverId: string | null }): Promise<void>
  refused(item: Item, result: Refusal): Promise<void>
  unknown(item: Item, result: { error: string; serverId: string }): Promise<void>
  excluded(item: Item, why: string): Promise<void>
  cancelled(item: Item): Promise<void>
  /** put off without a try, for the sake of pace or because no server is to be had */
  putOff(item: Item, until: Date, why: { class: ReplyClass; reply: string }): Promise<void>
}

export interface Refusal {
  reply: SmtpReply
  stage: 'MAIL' | 'RCPT' | 'DATA' | 'end'
  serverId: string | null
  /** where it is known already */
  class?: ReplyClass
  retry?: boolean
}

/** The time that a business lives in, as the engine knows it. */
export interface Present {
  now(businessId: string): Date
  /** stands still between two moments that fall due */
  hasTestClock(businessId: string): boolean
}

export interface OutcomeOptions extends Present {
  results: ResultLog
  deferMs?: typeof deferralMs
}

export function createOutcomes({ results, now, hasTestClock, deferMs = deferralMs }: OutcomeOptions): Outcomes {
  const final = async (item: Item, row: Pick<FinalRow, 'state' | 'class' | 'code' | 'reply' | 'serverId'>) => {
    const { deliveryId, subscriberId, email } = item.person
    const { businessId, block } = item.batch
    await results.final(businessId, {
      deliveryId,
      subscriberId,
      email,
      state: row.state,
      class: row.class,
      code: row.code,
      reply: clean(row.reply),
      serverId: row.serverId,
      retried: block === undefined,
      at: now(businessId),
    })
    leave(item)
  }

  const defer = async (
    item: Item,
    row: { nextAt: Date; class: ReplyClass; code: number; reply: string; serverId: string | null; tried: boolean },
  ) => {
    const { businessId, lane } = item.batch
    const at = now(businessId)
    await results.deferred(businessId, {
      ...row,
      reply: clean(row.reply),
      deliveryId: item.person.deliveryId,
      subscriberId: item.person.subscriberId,
      email: item.person.email,
      lane,
      attempts: item.attempts + (row.tried ? 1 : 0),
      expiresAt: item.expiresAt ?? new Date(at.getTime() + patienceMs(lane)),
      at,
    })
    leave(item)
  }

  return {
    sent: (item, { reply, serverId }) =>
      final(item, { state: 'sent', class: '', code: reply.code, reply: reply.text, serverId }),
    async refused(item, refusal) {
      const { reply, stage, serverId } = refusal
      const verdict = refusal.class ? { class: refusal.class, retry: refusal.retry ?? true } : classify(reply, stage)
      const { businessId } = item.batch
      const at = now(businessId)
      const why = { class: verdict.class, reply: reply.text }
      // A test clock stops at every moment that falls due: what was deferred together is best tried together.
      const waitMs = hasTestClock(businessId) ? deferMs(item.attempts + 1, why, 0) : deferMs(item.attempts + 1, why)
      const nextAt = new Date(at.getTime() + waitMs)
      const expiresAt = item.expiresAt ?? new Date(at.getTime() + patienceMs(item.batch.lane))
      const entry = { class: verdict.class, code: reply.code, reply: reply.text, serverId }
      if (verdict.retry && nextAt < expiresAt) return defer(item, { ...entry, nextAt, tried: true })
      await final(item, { ...entry, state: isOurs(verdict.class) ? 'failed' : 'bounced' })
    },
    unknown: (item, { error, serverId }) =>
      final(item, { state: 'unknown', class: 'network', code: 0, reply: error, serverId }),
    excluded: (item, why) => final(item, { state: 'suppressed', class: '', code: 0, reply: why, serverId: null }),
    cancelled: item => final(item, { state: 'cancelled', class: '', code: 0, reply: '', serverId: null }),
    async putOff(item, until, why) {
      if (item.expiresAt && until >= item.expiresAt)
        return final(item, { state: 'failed', class: why.class, code: 0, reply: why.reply, serverId: null })
      await defer(item, { ...why, nextAt: until, code: 0, serverId: null, tried: false })
    },
  }
}

/** Replies are somebody else's words: bounded, on one line, and without what the database can't hold. */
const clean = (reply: string) =>
  reply
    .slice(0, 1_000)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .toWellFormed()
    .trim()
