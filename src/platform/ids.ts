import { randomBytes, randomInt } from 'node:crypto'

const COUNTER_SIZE = 0x1000000
const HEX3 = Array.from({ length: 0x1000 }, (_, value) => value.toString(16).padStart(3, '0'))

// Worker threads and forked processes load this module anew, so each of them has a random part of its own.
const random = randomBytes(5).toString('hex')
let counter = randomInt(COUNTER_SIZE)
let second = 0
let prefix = ''

/** 24 lower-case hex characters: 4 bytes seconds, 5 bytes random per process and thread, 3 bytes counter. */
export function newId(): string {
  followClock()
  return next()
}

export function newIds(count: number): string[] {
  followClock()
  const ids = new Array<string>(count)
  for (let i = 0; i < count; i++) ids[i] = next()
  return ids
}

export function isId(text: string): boolean {
  return /^[0-9a-f]{24}$/.test(text)
}

/** Seconds never go back: a clock that is set back would otherwise meet counters that are already used. */
function followClock() {
  const now = Math.floor(Date.now() / 1000)
  if (now > second) moveTo(now)
}

function next(): string {
  const value = counter++
  const id = prefix + HEX3[value >>> 12] + HEX3[value & 0xfff]
  if (counter === COUNTER_SIZE) {
    counter = 0
    // Seconds and counter together only grow, so a wrapped counter can neither repeat an id nor break the order.
    moveTo(second + 1)
  }
  return id
}

function moveTo(newSecond: number) {
  second = newSecond
  prefix = (newSecond >>> 0).toString(16).padStart(8, '0') + random
}
