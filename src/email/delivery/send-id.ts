import { randomInt } from 'node:crypto'

/**
 * A send and its deliveries share sixteen digits; the last eight are zero for the send and the place in the audience
 * for a delivery. So the id of one gives the other, and the deliveries of a send stand together in the index.
 */
const shared = 16

const counterSize = 2 ** 22
let counter = randomInt(counterSize)
let latestMs = 0

/**
 * Seconds, then the thousandth of the second and a counter in one number: the later of two sends of a process has the
 * greater id, which decides who got a campaign since.
 */
export function newSendId(): string {
  latestMs = Math.max(latestMs, Date.now())
  counter = (counter + 1) % counterSize
  if (counter === 0) latestMs++
  const seconds = Math.floor(latestMs / 1000)
  const rest = (latestMs % 1000) * counterSize + counter
  return `${hex(seconds)}${hex(rest)}00000000`
}

const hex = (value: number) => value.toString(16).padStart(8, '0')

export const deliveryIdOf = (sendId: string, place: number) =>
  sendId.slice(0, shared) + place.toString(16).padStart(8, '0')
export const sendIdOf = (deliveryId: string) => `${deliveryId.slice(0, shared)}00000000`
export const placeOf = (deliveryId: string) => Number.parseInt(deliveryId.slice(shared), 16)
