import type { FastifyRequest } from 'fastify'
import type { Database } from '../platform/database.ts'
import type { Caller } from '../platform/mount.ts'
import { forbidden, Problem } from '../platform/problem.ts'
import { hashKey, type KeyService, looksLikeKey, sameHash } from './keys.ts'
import * as store from './store.ts'

/** A revocation must hold within a second on every process, so nothing remembered is older than this. */
const cacheMs = 800
const cacheSize = 10_000

export type Authenticate = (service: KeyService) => (request: FastifyRequest) => Promise<Caller>

interface Remembered {
  at: number
  caller: Promise<store.KeyCaller | undefined>
}

/** Finds out who calls. Keys are remembered for a moment, so that a busy caller costs no query a request. */
export function createAuthenticate(db: Database): Authenticate {
  const cache = new Map<string, Remembered>()

  const find = (key: string): Promise<store.KeyCaller | undefined> => {
    const hash = hashKey(key)
    const name = hash.toString('latin1')
    const known = cache.get(name)
    const now = performance.now()
    if (known && now - known.at < cacheMs) return known.caller
    const caller = store
      .callerByKeyHash(db, hash)
      .then(found => (found && sameHash(found.keyHash, hash) ? found : undefined))
    // Failed look-ups are not remembered: the database may be back with the next request.
    caller.catch(() => cache.delete(name))
    if (cache.size >= cacheSize) cache.clear()
    cache.set(name, { at: now, caller })
    return caller
  }

  return service => async request => {
    const credentials = readCredentials(request.headers.authorization ?? '')
    const caller = credentials && looksLikeKey(credentials.key) ? await find(credentials.key) : undefined
    if (!credentials || !caller || !secretFits(caller, credentials.secret)) throw unauthorized(service)
    if (caller.service !== service)
      throw forbidden('key_of_other_service', `This key is for the ${caller.service} service, not for ${service}.`)
    if ((service === 'billing') !== (credentials.secret !== undefined)) throw unauthorized(service)
    return { keyId: caller.keyId, readOnly: caller.readOnly, business: caller.business }
  }
}

interface Credentials {
  key: string
  /** given by Basic only */
  secret?: string
}

/** Both schemes are read on every service, so that a valid key of the wrong service is told so (403) instead of refused as unknown. */
function readCredentials(header: string): Credentials | undefined {
  const [, scheme = '', value = ''] = /^(Bearer|Basic) +(\S+)$/i.exec(header) ?? []
  if (scheme.toLowerCase() === 'bearer') return { key: value }
  if (scheme.toLowerCase() !== 'basic') return undefined
  const [key = '', ...secret] = Buffer.from(value, 'base64').toString().split(':')
  return { key, secret: secret.join(':') }
}

function secretFits(caller: store.KeyCaller, secret: string | undefined): boolean {
  if (!caller.secretHash) return true
  return secret !== undefined && sameHash(caller.secretHash, hashKey(secret))
}

const unauthorized = (service: KeyService) =>
  new Problem(
    401,
    'unauthorized',
    service === 'billing'
      ? 'Send your API key and secret key: Authorization: Basic base64(API_KEY:SECRET_KEY).'
      : 'Send your API key: Authorization: Bearer API_KEY.',
    {
      headers: {
        'www-authenticate':
          service === 'billing' ? 'Basic realm="pennypost", charset="UTF-8"' : 'Bearer realm="pennypost"',
      },
    },
  )
