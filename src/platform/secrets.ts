import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

export interface Secrets {
  /** The context (say, business id and purpose) is bound in: a value moved to another row does not decrypt. */
  encrypt(plain: string, context: string): string
  decrypt(sealed: string, context: string): string
  /** base64url of the first `length` bytes of an HMAC-SHA256 under a key of this purpose. */
  sign(purpose: string, payload: string, length?: number): string
  /** `length` is the one it was signed with: were any accepted, the shortest would be the one to guess. */
  verify(purpose: string, payload: string, signature: string, length?: number): boolean
  /** `<base64url payload>.<signature>`: the payload is protected against change, not hidden. */
  token(purpose: string, payload: string): string
  readToken(purpose: string, token: string): string | undefined
  /** Tells master keys apart without revealing them, so that copies with different keys can refuse one database. */
  fingerprint: string
}

const MASTER_KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const SIGNATURE_BYTES = 16
const MAX_CACHED_KEYS = 10_000

export function createSecrets(masterKey: Buffer): Secrets {
  if (masterKey.length !== MASTER_KEY_BYTES) {
    throw new Error(`The master key must have ${MASTER_KEY_BYTES} bytes, this one has ${masterKey.length}.`)
  }
  // A copy, so that a caller who wipes or reuses its buffer does not change keys that are derived later.
  const master = Buffer.from(masterKey)
  const derive = (use: string, bytes = 32) => Buffer.from(hkdfSync('sha256', master, 'pennypost', use, bytes))
  const sealingKey = derive('encrypt')
  const signingKeys = new Map<string, Buffer>()

  function signingKey(purpose: string): Buffer {
    let key = signingKeys.get(purpose)
    if (!key) {
      if (signingKeys.size >= MAX_CACHED_KEYS) signingKeys.clear()
      key = derive(`sign:${purpose}`)
      signingKeys.set(purpose, key)
    }
    return key
  }

  // A text digest is half as quick again as a Buffer cut and then encoded; one-shot hashes chained by hand gain little.
  function sign(purpose: string, payload: string, length = SIGNATURE_BYTES): string {
    return firstBytes(createHmac('sha256', signingKey(purpose)).update(payload).digest('base64url'), length)
  }

  function verify(purpose: string, payload: string, signature: string, length = SIGNATURE_BYTES): boolean {
    const expected = Buffer.from(sign(purpose, payload, length))
    const given = Buffer.from(signature)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  return {
    encrypt: (plain, context) => seal(sealingKey, plain, context),
    decrypt: (sealed, context) => open(sealingKey, sealed, context),
    sign,
    verify,
    token: (purpose, payload) => `${Buffer.from(payload).toString('base64url')}.${sign(purpose, payload)}`,
    readToken(purpose, token) {
      const dot = token.indexOf('.')
      if (dot < 0) return undefined
      const payload = decodeExactly(token.slice(0, dot))?.toString()
      return payload !== undefined && verify(purpose, payload, token.slice(dot + 1)) ? payload : undefined
    },
    fingerprint: derive('fingerprint', 8).toString('hex'),
  }
}

function seal(key: Buffer, plain: string, context: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `v1.${sealed.toString('base64url')}`
}

function open(key: Buffer, sealed: string, context: string): string {
  const bytes = sealed.startsWith('v1.') ? decodeExactly(sealed.slice(3)) : undefined
  if (!bytes || bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('This is not a sealed secret.')
  const tagStart = bytes.length - TAG_BYTES
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(tagStart))
  const plain = decipher.update(bytes.subarray(NONCE_BYTES, tagStart))
  try {
    return Buffer.concat([plain, decipher.final()]).toString()
  } catch {
    throw new Error('This secret does not open: it was changed, moved, or sealed with another master key.')
  }
}

/** Node skips what is not base64url; then many texts would mean the same bytes and all of them would pass. */
function decodeExactly(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The base64url text of the first bytes of a longer one: where bytes end inside a character, its low bits are zero. */
function firstBytes(base64url: string, length: number): string {
  if (!Number.isInteger(length) || length < 8 || length > 32) throw new RangeError('A signature has 8 to 32 bytes.')
  const rest = length % 3
  const whole = Math.floor((length * 4) / 3)
  if (rest === 0) return base64url.slice(0, whole)
  const kept = ALPHABET.indexOf(base64url.charAt(whole)) & (rest === 1 ? 0b110000 : 0b111100)
  return base64url.slice(0, whole) + ALPHABET.charAt(kept)
}
