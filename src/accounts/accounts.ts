import type { Database, Tx } from '../platform/database.ts'
import { newId } from '../platform/ids.ts'
import { invalidField } from '../platform/problem.ts'
import { createKey, keyServices } from './keys.ts'
import * as store from './store.ts'

/** What `account create` prints: everything a person needs to call every service. Shown once. */
export interface NewAccount {
  userId: string
  businessId: string
  account: { baseUrl: string; apiKey: string }
  email: { baseUrl: string; apiKey: string }
  chat: { baseUrl: string; apiKey: string }
  billing: { baseUrl: string; apiKey: string; secretKey: string }
}

export const baseUrls = {
  account: '/account/api/v1',
  email: '/email/api/v2',
  chat: '/chat/api/v1',
  billing: '/billing/api/v1',
} as const

export interface NewBusiness {
  name: string
  testMode?: boolean
  timeZone?: string
  currency?: string
}

/** A user (found again by email, so that one person may own several businesses), a business and a key for each service. */
export function createAccount(
  db: Database,
  options: { email: string; business: NewBusiness; publicUrl: string; profile?: object },
): Promise<NewAccount> {
  return db.begin(async tx => {
    const user = await store.upsertUser(tx, { id: newId(), email: options.email, profile: options.profile ?? {} })
    const business = await createBusiness(tx, user.id, options.business)
    return { userId: user.id, businessId: business.id, ...(await createAllKeys(tx, business.id, options.publicUrl)) }
  })
}

export async function createBusiness(
  tx: Tx,
  userId: string,
  { name, testMode = false, timeZone = 'UTC', currency = 'USD' }: NewBusiness,
) {
  checkTimeZone(timeZone)
  checkCurrency(currency)
  return store.insertBusiness(tx, { id: newId(), userId, name, testMode, timeZone, currency })
}

export async function createAllKeys(
  tx: Tx,
  businessId: string,
  publicUrl: string,
): Promise<Omit<NewAccount, 'userId' | 'businessId'>> {
  const entries = []
  for (const service of keyServices) {
    const { apiKey, secretKey } = await createKey(tx, businessId, { service, name: 'first key' })
    entries.push([service, { baseUrl: publicUrl + baseUrls[service], apiKey, ...(secretKey && { secretKey }) }])
  }
  return Object.fromEntries(entries)
}

export function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw invalidField('timeZone', 'must be an IANA time zone such as Europe/Berlin')
  }
}

export function checkCurrency(currency: string): void {
  if (!Intl.supportedValuesOf('currency').includes(currency))
    throw invalidField('currency', 'must be an ISO 4217 code such as USD')
}
