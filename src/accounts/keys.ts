import { createHash, randomInt, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Db } from '../platform/database.ts'
import { newId } from '../platform/ids.ts'
import { fail, notFound } from '../platform/problem.ts'
import * as store from './store.ts'

/**
 * Keys are shown once and kept only as a hash. They are 36 random characters, so a plain hash is enough: there is
 * nothing to guess. Prefix and checksum let a secret scanner find a leaked one, and let us refuse garbage unasked.
 */
export const keyServices = ['account', 'email', 'chat', 'billing'] as const
export type KeyService = (typeof keyServices)[number]

const prefixes: Record<KeyService | 'secret', string> = {
  account: 'ppa_',
  email: 'ppe_',
  chat: 'ppc_',
  billing: 'ppb_',
  secret: 'pps_',
}
const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 36
const shape = /^pp[aecbs]_[0-9A-Za-z]{42}$/

export function makeKey(kind: KeyService | 'secret'): string {
  const body = prefixes[kind] + Array.from({ length: randomLength }, () => letters[randomInt(62)]).join('')
  return body + checksum(body)
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < 6; i++) {
    digits = letters[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

export const looksLikeKey = (text: string) => shape.test(text) && checksum(text.slice(0, -6)) === text.slice(-6)

export const hashKey = (key: string) => createHash('sha256').update(key).digest()
export const sameHash = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b)

export interface NewKey {
  id: string
  service: KeyService
  name: string
  readOnly: boolean
  apiKey: string
  secretKey?: string
}

export async function createKey(
  db: Db,
  businessId: string,
  options: { service: KeyService; name?: string; readOnly?: boolean },
): Promise<NewKey> {
  const { service, name = '', readOnly = false } = options
  const apiKey = makeKey(service)
  const secretKey = service === 'billing' ? makeKey('secret') : undefined
  const id = newId()
  await store.insertKey(db, businessId, {
    id,
    service,
    name,
    readOnly,
    keyHash: hashKey(apiKey),
    secretHash: secretKey ? hashKey(secretKey) : null,
    hint: `${apiKey.slice(0, 8)}…${apiKey.slice(-4)}`,
  })
  return { id, service, name, readOnly, apiKey, ...(secretKey && { secretKey }) }
}

export async function revokeKey(db: Db, businessId: string, keyId: string): Promise<store.KeyRow> {
  return (await store.revokeKey(db, businessId, keyId)) ?? fail(notFound('Key'))
}
