import { unprocessable } from '../../platform/problem.ts'
import type { Context } from '../context.ts'
import type { Gateway } from './gateway.ts'
import { offlineGateway } from './offline.ts'
import * as store from './store.ts'
import { stripeGateway, stripeMinCharge } from './stripe.ts'
import { smallestCharge, testGateway } from './test-gateway.ts'

export const gatewayTypes = ['test', 'stripe', 'offline'] as const

type Place = Pick<Context, 'platform' | 'business'>

/** The gateway as this business uses it. Talks on connections of its own, never inside a transaction. */
export async function gatewayFor({ platform, business }: Place, id: string): Promise<Gateway> {
  if (id === 'offline') return offlineGateway
  if (id === 'test')
    return testGateway(platform.db, business.id, `${platform.config.publicUrl}/checkout/confirm/${business.id}`)
  const account = await store.findGatewayAccount(platform.db, business.id, id)
  if (!account)
    throw unprocessable('gateway_not_connected', `Connect ${id} first: PUT /gateways/${id} with your secret key.`)
  const unseal = (sealed: string, purpose: string) =>
    platform.secrets.decrypt(sealed, sealContext(business.id, purpose))
  return stripeGateway({
    secretKey: unseal(account.secretKey, 'stripe secret key'),
    webhookSecret: unseal(account.webhookSecret, 'stripe webhook secret'),
    apiUrl: platform.config.stripeUrl,
  })
}

export const sealContext = (businessId: string, purpose: string) => `${businessId}:${purpose}`

export async function connectStripe(
  { platform, business }: Place,
  account: { secretKey: string; webhookSecret: string },
): Promise<void> {
  const seal = (plain: string, purpose: string) => platform.secrets.encrypt(plain, sealContext(business.id, purpose))
  await store.saveGatewayAccount(platform.db, business.id, {
    gateway: 'stripe',
    secretKey: seal(account.secretKey, 'stripe secret key'),
    webhookSecret: seal(account.webhookSecret, 'stripe webhook secret'),
  })
}

/** The smallest amount worth sending to this gateway. */
export function minCharge(gateway: string, currency: string): bigint {
  if (gateway === 'offline') return 0n
  return gateway === 'stripe' ? stripeMinCharge(currency) : smallestCharge(currency)
}
