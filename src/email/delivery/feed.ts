import type { Item } from './batch.ts'
import { type CompiledMessage, mergeDataOf } from './compile-message.ts'
import { mergeDataFor } from './merge-data.ts'
import type { QueueHooks, QueueSettings } from './server-queue.ts'
import type { SignAhead } from './sign-ahead.ts'
import type { Feed, Outcome, Outgoing } from './smtp-client.ts'
import { tokensOf } from './tokens.ts'

/** A recipient and the message to fill for them. */
export interface Job {
  item: Item
  message: CompiledMessage
}
export type OutgoingJob = Outgoing & Job

const idleMs = 5_000
export const endDot = Buffer.from('.\r\n')
/** for the envelope of the next message, which is written behind this one */
export const envelopeRoom = 400

interface FeedParts {
  reserved: boolean
  nextJob(reserved: boolean): Job | undefined
  ahead: SignAhead<OutgoingJob>
  settle(job: OutgoingJob, outcome: Outcome): Promise<void>
  hooks: QueueHooks
  settings(): QueueSettings
  waiters: Set<() => void>
  stopping(): boolean
}

/** Writes a recipient's message with its end dot into the buffer, or into a larger one. */
export function fillJob(job: Job, hooks: QueueHooks, buffer: Buffer): OutgoingJob & { buffer: Buffer } {
  const { config, secrets } = hooks.platform
  const { batch, person } = job.item
  const tokens = tokensOf(secrets, { businessId: batch.businessId, deliveryId: person.deliveryId })
  const recipient = {
    deliveryId: person.deliveryId,
    email: person.email,
    trackToken: tokens.track,
    unsubscribeToken: tokens.unsubscribe,
    data: mergeDataFor(person),
  }
  mergeDataOf(recipient, config.publicUrl)
  const filled = job.message.fill(recipient, hooks.now(batch.businessId), buffer, endDot.length + envelopeRoom)
  filled.buffer.set(endDot, filled.length)
  const length = filled.length + endDot.length
  return {
    item: job.item,
    message: job.message,
    from: config.inboundSmtpPort > 0 ? `b+${tokens.bounce}@${config.mailDomain}` : job.message.senderAddress,
    to: person.email,
    bytes: filled.buffer.subarray(0, length),
    room: filled.buffer.length - length,
    eightBit: false,
    buffer: filled.buffer,
  }
}

/** What one connection takes from the queue. Two buffers take turns: one is filled while the other is on the wire. */
export function createFeed(parts: FeedParts): Feed<OutgoingJob> {
  const { reserved, nextJob, ahead, hooks, settings, waiters, stopping } = parts
  const buffers: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)]
  let turn: 0 | 1 = 0

  const take = (): OutgoingJob | undefined => {
    if (stopping()) return undefined
    // What was signed ahead goes first, also when signing has been switched off since.
    if (settings().sign || ahead.size > 0) {
      const signed = ahead.take(reserved)
      if (signed || settings().sign) return signed
    }
    const job = nextJob(reserved)
    if (!job) return undefined
    turn = turn === 0 ? 1 : 0
    const outgoing = fillJob(job, hooks, buffers[turn])
    buffers[turn] = outgoing.buffer
    return outgoing
  }

  return {
    async next() {
      const until = Date.now() + idleMs
      for (;;) {
        const job = take()
        if (job) return job
        if (stopping() || Date.now() >= until) return undefined
        await new Promise<void>(resolve => {
          const end = () => {
            clearTimeout(timer)
            waiters.delete(end)
            resolve()
          }
          const timer = setTimeout(end, until - Date.now())
          waiters.add(end)
        })
      }
    },
    take,
    mayFinish: job => Date.now() < job.item.batch.leaseUntil - 500,
    settle: parts.settle,
  }
}
