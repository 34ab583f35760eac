import type { Lane } from './lanes.ts'
import type { SendContext } from './send-context.ts'
import { deliveryIdOf, sendIdOf } from './send-id.ts'
import type { ClaimedBlock, ClaimedDeferral, Person } from './store-work.ts'

/** One recipient on the way through the engine. */
export interface Item {
  batch: Batch
  send: SendContext
  person: Person
  /** tries before this one */
  attempts: number
  expiresAt: Date | undefined
  /** how often a connection ended or was refused before its end dot; no try of the message itself */
  pushbacks: number
  /** servers that refused us (not the recipient); nearly nobody has any */
  avoid: Set<string> | undefined
}

/**
 * What a worker claimed as one: a block of an audience, or deferrals that fell due. It ends when each of its items has
 * a durable result or was let go; then it is counted, or its claim is given back.
 */
export interface Batch {
  readonly businessId: string
  readonly lane: Lane
  readonly block: ClaimedBlock | undefined
  readonly deferrals: readonly ClaimedDeferral[]
  /** no further item may start: paused, cancelled, stopping, or the claim was lost */
  halted: boolean
  /** by the clock of this process; after it another worker may hold the claim */
  leaseUntil: number
  /** items without a result */
  left: number
  readonly ended: Promise<void>
  end(): void
}

export function makeBatch(
  claim: { businessId: string; lane: Lane; block?: ClaimedBlock; deferrals?: readonly ClaimedDeferral[] },
  leaseUntil: number,
): Batch {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    businessId: claim.businessId,
    lane: claim.lane,
    block: claim.block,
    deferrals: claim.deferrals ?? [],
    halted: false,
    leaseUntil,
    left: 0,
    ended: promise,
    end: resolve,
  }
}

/** An item is done with: it has its result, or was let go for another time. */
export function leave(item: Item): void {
  item.batch.left--
  if (item.batch.left === 0) item.batch.end()
}

/** The margin lets a reply come back and be written before another worker may begin. */
export const mayStart = (batch: Batch) => !batch.halted && Date.now() < batch.leaseUntil - 1_000

/** The ids of a block's first and last delivery. */
export const rangeOf = ({ sendId, first, people }: ClaimedBlock) => ({
  from: deliveryIdOf(sendId, first),
  to: deliveryIdOf(sendId, first + people - 1),
})

export const sendIdsOf = (batch: Batch) => [
  ...new Set(batch.block ? [batch.block.sendId] : batch.deferrals.map(one => sendIdOf(one.deliveryId))),
]
