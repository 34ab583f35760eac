import type { Secrets } from '../../platform/secrets.ts'

/**
 * Names a delivery to the outside. One signature a delivery serves three purposes, each with bytes of its own: knowing
 * a click address does not let anyone unsubscribe, and neither lets anyone forge a bounce.
 */
export interface DeliveryTokens {
  track: string
  unsubscribe: string
  /** of letters and digits that survive mail servers which fold case */
  bounce: string
}

export interface DeliveryName {
  businessId: string
  deliveryId: string
}

const purpose = 'email delivery'
const nameChars = 32
const partChars = 16

export function tokensOf(secrets: Secrets, { businessId, deliveryId }: DeliveryName): DeliveryTokens {
  const name = Buffer.from(businessId + deliveryId, 'hex').toString('base64url')
  const signature = secrets.sign(purpose, name, 32)
  return {
    track: name + signature.slice(0, partChars),
    unsubscribe: name + signature.slice(partChars, 2 * partChars),
    // Only where bounces come back to us is it wanted.
    get bounce() {
      return base32(Buffer.from(businessId + deliveryId, 'hex')) + base32(bounceBytes(signature))
    },
  }
}

export const readTrackToken = (secrets: Secrets, token: string) => readToken(secrets, token, 0)
export const readUnsubscribeToken = (secrets: Secrets, token: string) => readToken(secrets, token, partChars)

function readToken(secrets: Secrets, token: string, from: number): DeliveryName | undefined {
  if (token.length !== nameChars + partChars) return undefined
  const name = token.slice(0, nameChars)
  const bytes = Buffer.from(name, 'base64url')
  if (bytes.toString('base64url') !== name) return undefined
  const signature = secrets.sign(purpose, name, 32)
  if (!sameText(signature.slice(from, from + partChars), token.slice(nameChars))) return undefined
  return nameOf(bytes)
}

const nameOf = (bytes: Buffer): DeliveryName => ({
  businessId: bytes.toString('hex', 0, 12),
  deliveryId: bytes.toString('hex', 12, 24),
})

/** Reads the local part of an envelope sender made here, whatever its case. */
export function readBounceToken(secrets: Secrets, token: string): DeliveryName | undefined {
  const text = token.toLowerCase()
  if (!/^[a-z2-7]{52}$/.test(text)) return undefined
  const bytes = fromBase32(text.slice(0, 39)).subarray(0, 24)
  const name = bytes.toString('base64url')
  const expected = base32(Buffer.from(bytes)) + base32(bounceBytes(secrets.sign(purpose, name, 32)))
  return sameText(expected, text) ? nameOf(bytes) : undefined
}

const bounceBytes = (signature: string) => Buffer.from(signature, 'base64url').subarray(24, 32)

/** In constant time, so that a signature can't be guessed character by character. */
function sameText(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

function base32(bytes: Buffer): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet[(value >>> bits) & 31]
    }
  }
  return bits > 0 ? text + alphabet[(value << (5 - bits)) & 31] : text
}

function fromBase32(text: string): Buffer {
  const bytes: number[] = []
  let bits = 0
  let value = 0
  for (const character of text) {
    value = ((value << 5) | alphabet.indexOf(character)) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push((value >>> bits) & 255)
    }
  }
  return Buffer.from(bytes)
}
