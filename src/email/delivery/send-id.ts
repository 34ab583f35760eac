import { randomBytes } from 'node:crypto'

/**
 * A send and its deliveries share sixteen digits; the last eight are zero for the send and the place in the audience
 * for a delivery. So the id of one gives the other, and the deliveries of a send stand together in the index.
 */
const shared = 16

export function newSendId(): string {
  const seconds = Math.floor(Date.now() / 1000)
  return `${seconds.toString(16).padStart(8, '0')}${randomBytes(4).toString('hex')}00000000`
}

export const deliveryIdOf = (sendId: string, place: number) =>
  sendId.slice(0, shared) + place.toString(16).padStart(8, '0')
export const sendIdOf = (deliveryId: string) => `${deliveryId.slice(0, shared)}00000000`
export const placeOf = (deliveryId: string) => Number.parseInt(deliveryId.slice(shared), 16)
