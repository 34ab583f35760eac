import type { Platform } from '../../platform/platform.ts'
import * as store from './store-slots.ts'

/**
 * A slot is a subscriber's small number in the bitmaps. Each process takes ranges of them ahead, on a connection of its
 * own and outside the caller's transaction: were they counted in the transaction, all inserts of a business would queue
 * at that row. What a process has left when it ends is never used, which costs nothing.
 */
interface Range {
  next: number
  end: number
  size: number
  refill: Promise<void> | undefined
}

interface SlotOffice {
  ranges: Map<string, Range>
  lease(businessId: string, count: number): Promise<number>
  leaseBlock(businessId: string): Promise<number>
}

const offices = new WeakMap<Platform['jobs'], SlotOffice>()
const [firstSize, maxSize, maxBusinesses] = [8, 1_024, 10_000]

export async function takeSlot(platform: Platform, businessId: string): Promise<number> {
  const office = officeOf(platform)
  let range = office.ranges.get(businessId)
  if (!range) {
    if (office.ranges.size >= maxBusinesses) office.ranges.clear()
    range = { next: 0, end: 0, size: firstSize, refill: undefined }
    office.ranges.set(businessId, range)
  }
  while (range.next >= range.end) await refill(office, businessId, range)
  return range.next++
}

/** The first of `count` slots in a row. */
export const takeSlots = (platform: Platform, businessId: string, count: number): Promise<number> =>
  officeOf(platform).lease(businessId, count)

/** The first slot of a block that nobody else is in: all its sets can be written at once. */
export const takeBlock = (platform: Platform, businessId: string): Promise<number> =>
  officeOf(platform).leaseBlock(businessId)

function refill(office: SlotOffice, businessId: string, range: Range): Promise<void> {
  range.refill ??= office
    .lease(businessId, range.size)
    .then(start => {
      range.next = start
      range.end = start + range.size
      range.size = Math.min(range.size * 2, maxSize)
    })
    .finally(() => {
      range.refill = undefined
    })
  return range.refill
}

function officeOf(platform: Platform): SlotOffice {
  const known = offices.get(platform.jobs)
  if (known) return known
  const pool = platform.connect({ name: 'slots', max: 1 })
  const office: SlotOffice = {
    ranges: new Map(),
    lease: (businessId, count) => store.leaseSlots(pool, businessId, count),
    leaseBlock: businessId => store.leaseBlock(pool, businessId),
  }
  offices.set(platform.jobs, office)
  return office
}
