import type { Facets } from './facets.ts'

/** Sets of subscribers, as bits by slot. A block holds the slots that share their higher bits. */
export const blockBits = 8_192
export const blockBytes = blockBits / 8

/** Scores are kept as the bits of score + 2³¹, one set a bit, so that any range is a few operations on sets. */
export const scoreBits = 32
export const scoreBase = 2 ** 31

export const statusKey = (status: string) => `s${status}`
export const listKey = (number: number) => `l${number}`
export const tagKey = (number: number) => `t${number}`
export const scoreKey = (bit: number) => `b${bit}`
export const everyoneKey = 'a'

/** The sets a subscriber is in. */
export function keysOf(facets: Facets | undefined): string[] {
  if (!facets) return []
  const keys = [everyoneKey, statusKey(facets.status)]
  for (const number of facets.listNumbers) keys.push(listKey(number))
  for (const number of facets.tagNumbers) keys.push(tagKey(number))
  const score = facets.leadScore + scoreBase
  for (let bit = 0; bit < scoreBits; bit++) if (Math.floor(score / 2 ** bit) % 2 === 1) keys.push(scoreKey(bit))
  return keys
}

/** Who comes into or leaves which set: a block of it and the place within. */
export interface SetChanges {
  keys: string[]
  blocks: number[]
  places: number[]
  /** 1: comes in, 0: leaves */
  members: number[]
  /** when who comes in was created; told of the set of everyone only */
  created: (string | null)[]
}

export const noChanges = (): SetChanges => ({ keys: [], blocks: [], places: [], members: [], created: [] })

export function noteSetChanges(
  changes: SetChanges,
  { slot, at, before, after }: { slot: number; at: Date; before?: Facets; after?: Facets },
): void {
  const [had, has] = [keysOf(before), keysOf(after)]
  const note = (key: string, member: 0 | 1) => {
    changes.keys.push(key)
    changes.blocks.push(Math.floor(slot / blockBits))
    changes.places.push(slot % blockBits)
    changes.members.push(member)
    changes.created.push(key === everyoneKey && member === 1 ? at.toISOString() : null)
  }
  for (const key of has) if (!had.includes(key)) note(key, 1)
  for (const key of had) if (!has.includes(key)) note(key, 0)
}

/** The slots of a block, from the bytes of its bits. */
export function slotsIn(block: number, bytes: Uint8Array): number[] {
  const slots: number[] = []
  for (let i = 0; i < bytes.length; i++) {
    let byte = bytes[i]!
    while (byte !== 0) {
      const lead = Math.clz32(byte) - 24
      slots.push(block * blockBits + i * 8 + lead)
      byte &= ~(0x80 >> lead)
    }
  }
  return slots
}
