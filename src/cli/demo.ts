import { createAccount, type NewAccount } from '../accounts/accounts.ts'
import { businessById, hasBusinesses } from '../accounts/store.ts'
import type { House } from '../house.ts'
import type { DemoLine, Service } from '../platform/service.ts'
import { describeAccount } from './account.ts'
import type { Command } from './command.ts'

export const demoCommand: Command = {
  usage: 'demo',
  run: ({ print, withHouse }) => withHouse(async house => print(await createDemo(house))),
}

export const isEmpty = async (house: House) => !(await hasBusinesses(house.platform.db))

/** A demo business with lifelike data in every service; answers what to print: its keys and a call to try for each. */
export async function createDemo({ platform, services }: House): Promise<string> {
  const { db, config } = platform
  const profile = {
    first_name: 'Dana',
    last_name: 'Demo',
    address_line1: '12 Mill Street',
    zip_code: '97205',
    city: 'Portland',
    state: 'OR',
    country: 'US',
    time_zone: 'UTC',
  }
  const account = await createAccount(db, {
    email: 'demo@pennypost.example',
    business: { name: 'Demo Bakery' },
    publicUrl: config.publicUrl,
    profile,
  })
  const business = await businessById(db, account.businessId)
  if (!business) throw new Error('The demo business was not found right after it was made.')
  const lines: string[] = []
  for (const service of services) {
    const demo = await service.demo(platform, business)
    lines.push(...demo.map(line => `  ${line.label}\n    ${fill(line, service.name, account)}`))
  }
  return [`A demo business with sample data is ready. ${describeAccount(account)}`, 'Try:', ...lines].join('\n')
}

/** {base} and {auth} stand for the base URL of the line's own service and the header with its key. */
function fill({ text }: DemoLine, service: Service['name'], account: NewAccount): string {
  if (service === 'checkout') return text
  const { baseUrl, apiKey } = account[service]
  const basic = () => Buffer.from(`${apiKey}:${account.billing.secretKey}`).toString('base64')
  const auth = service === 'billing' ? `Authorization: Basic ${basic()}` : `Authorization: Bearer ${apiKey}`
  return text.replaceAll('{base}', baseUrl).replaceAll('{auth}', auth)
}
