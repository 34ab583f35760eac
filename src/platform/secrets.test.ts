import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSecrets } from './secrets.ts'

const masterKey = Buffer.alloc(32, 7)
const secrets = createSecrets(masterKey)
const text = fc.string({ unit: 'binary' })

/** One character of a base64url text replaced by another one. */
function changeAt(text: string, index: number): string {
  return text.slice(0, index) + (text[index] === 'A' ? 'B' : 'A') + text.slice(index + 1)
}

test('a master key has 32 bytes', () => {
  expect(() => createSecrets(Buffer.alloc(31))).toThrow('32 bytes')
  expect(() => createSecrets(Buffer.alloc(64))).toThrow('32 bytes')
})

test('what is encrypted decrypts in its context, and never looks the same twice', () => {
  fc.assert(
    fc.property(text, text, (plain, context) => {
      const sealed = secrets.encrypt(plain, context)
      expect(sealed).toMatch(/^v1\.[A-Za-z0-9_-]+$/)
      expect(secrets.decrypt(sealed, context)).toBe(plain)
      expect(secrets.encrypt(plain, context)).not.toBe(sealed)
    }),
  )
})

test('a value moved to another context does not decrypt', () => {
  const sealed = secrets.encrypt('smtp password', 'business-1 smtp')
  expect(() => secrets.decrypt(sealed, 'business-2 smtp')).toThrow('does not open')
})

test('another master key does not decrypt', () => {
  const sealed = secrets.encrypt('smtp password', 'business-1 smtp')
  expect(() => createSecrets(Buffer.alloc(32, 8)).decrypt(sealed, 'business-1 smtp')).toThrow('does not open')
})

test('a change of any character of a sealed value is noticed', () => {
  const sealed = secrets.encrypt('smtp password', 'c')
  for (let i = 0; i < sealed.length; i++) expect(() => secrets.decrypt(changeAt(sealed, i), 'c')).toThrow()
})

test.each(['', 'v1.', 'v1.AAAA', 'v2.' + 'A'.repeat(60), 'plain text'])('%j is not a sealed value', sealed => {
  expect(() => secrets.decrypt(sealed, 'c')).toThrow('not a sealed secret')
})

test('characters that base64url decoding would skip are refused', () => {
  const sealed = secrets.encrypt('smtp password', 'c')
  for (const more of ['=', '\n', ' ', '!', '.']) expect(() => secrets.decrypt(sealed + more, 'c')).toThrow()
})

test('a signature is the beginning of an HMAC-SHA256 under the key derived for its purpose', () => {
  const key = Buffer.from(hkdfSync('sha256', masterKey, 'pennypost', 'sign:open-pixel', 32))
  fc.assert(
    fc.property(text, fc.integer({ min: 8, max: 32 }), (payload, length) => {
      const mac = createHmac('sha256', key).update(payload).digest()
      expect(secrets.sign('open-pixel', payload, length)).toBe(mac.subarray(0, length).toString('base64url'))
    }),
  )
  expect(secrets.sign('open-pixel', 'x')).toHaveLength(22)
})

test('a signature is verified for its purpose, payload, key and length only', () => {
  fc.assert(
    fc.property(text, text, (payload, other) => {
      fc.pre(payload !== other)
      const signature = secrets.sign('click', payload)
      expect(secrets.verify('click', payload, signature)).toBe(true)
      expect(secrets.verify('open', payload, signature)).toBe(false)
      expect(secrets.verify('click', other, signature)).toBe(false)
      expect(createSecrets(randomBytes(32)).verify('click', payload, signature)).toBe(false)
      expect(secrets.verify('click', payload, secrets.sign('click', payload, 8))).toBe(false)
      expect(secrets.verify('click', payload, secrets.sign('click', payload, 8), 8)).toBe(true)
    }),
  )
})

test('malformed signatures are false, never an error', () => {
  const signature = secrets.sign('click', 'x')
  for (const wrong of [
    '',
    ' ',
    signature + '=',
    signature.slice(1),
    'é'.repeat(11),
    '\u0141'.repeat(22),
    '\0'.repeat(22),
  ]) {
    expect(secrets.verify('click', 'x', wrong)).toBe(false)
  }
  fc.assert(fc.property(text, wrong => secrets.verify('click', 'x', wrong) === (wrong === signature)))
})

test('signatures too short to be safe cannot be asked for', () => {
  for (const length of [0, 7, 33, 8.5, Number.NaN]) expect(() => secrets.sign('click', 'x', length)).toThrow(RangeError)
})

test('a token gives back its payload, url-safe and compact', () => {
  fc.assert(
    fc.property(text, payload => {
      const token = secrets.token('unsubscribe', payload)
      expect(token).toMatch(/^[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{22}$/)
      expect(secrets.readToken('unsubscribe', token)).toBe(payload)
      expect(secrets.readToken('confirm', token)).toBeUndefined()
    }),
  )
})

test('a changed token is not read', () => {
  const token = secrets.token('unsubscribe', 'subscriber-1')
  for (let i = 0; i < token.length; i++) {
    expect(secrets.readToken('unsubscribe', changeAt(token, i))).toBeUndefined()
  }
  for (const wrong of [
    '',
    '.',
    'abc',
    token + '=',
    '=' + token,
    token + '.',
    token.replace('.', '..'),
    token.slice(0, -1),
  ]) {
    expect(secrets.readToken('unsubscribe', wrong)).toBeUndefined()
  }
})

test('the fingerprint is the same for the same key, and another one for another', () => {
  expect(secrets.fingerprint).toMatch(/^[0-9a-f]{16}$/)
  expect(createSecrets(Buffer.alloc(32, 7)).fingerprint).toBe(secrets.fingerprint)
  expect(createSecrets(Buffer.alloc(32, 8)).fingerprint).not.toBe(secrets.fingerprint)
})

test('keys do not change when the caller wipes its copy of the master key', () => {
  const key = Buffer.alloc(32, 7)
  const other = createSecrets(key)
  key.fill(0)
  expect(other.sign('later', 'x')).toBe(secrets.sign('later', 'x'))
})

test('more purposes than are cached still sign the same', () => {
  const first = secrets.sign('purpose-0', 'x')
  for (let i = 0; i < 10_001; i++) secrets.sign(`purpose-${i}`, 'x')
  expect(secrets.sign('purpose-0', 'x')).toBe(first)
})
