import type { Static } from 'typebox'
import { userById } from '../../accounts/store.ts'
import type { Business } from '../../platform/business.ts'
import type { Db } from '../../platform/database.ts'
import { currencySymbol } from '../currencies.ts'
import type { UserSchema } from './schema.ts'

/** The owner of the business as the specification shows it: all texts, empty where they said nothing of themself. */
export async function showUser(db: Db, business: Business): Promise<Static<typeof UserSchema>> {
  const user = await userById(db, business.userId)
  if (!user) throw new Error('A business has no owner.')
  const { id, email, profile, createdAt, updatedAt } = user
  const said = (name: string) => String(profile[name] ?? '')
  return {
    id,
    verified: said('verified') || 'false',
    currency: business.currency,
    first_name: said('first_name'),
    last_name: said('last_name'),
    email,
    address_line1: said('address_line1'),
    address_line2: said('address_line2'),
    city: said('city'),
    state: said('state'),
    country: said('country'),
    zip_code: said('zip_code'),
    phone: said('phone'),
    mobile: said('mobile'),
    facebook_url: said('facebook_url'),
    twitter_url: said('twitter_url'),
    time_zone: business.timeZone,
    date_format: said('date_format') || 'YYYY-MM-DD',
    ip_address: said('ip_address'),
    currency_symbol: currencySymbol(business.currency),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }
}
