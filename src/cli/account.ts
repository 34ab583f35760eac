import { parseArgs } from 'node:util'
import type { NewAccount } from '../accounts/accounts.ts'
import { createAccount } from '../accounts/accounts.ts'
import { type Command, UsageError } from './command.ts'

export const accountCommand: Command = {
  usage: 'account create --email E --business NAME [--test-mode] [--time-zone Z] [--currency C] [--json]',
  async run({ args, config, print, withHouse }) {
    const [action, ...rest] = args
    if (action !== 'create') throw new UsageError('Expected: account create')
    const { values } = parseArgs({
      args: rest,
      options: {
        email: { type: 'string' },
        business: { type: 'string' },
        'test-mode': { type: 'boolean', default: false },
        'time-zone': { type: 'string' },
        currency: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    })
    const { email, business } = values
    if (!email || !/^[^\s@]+@[^\s@]+$/.test(email))
      throw new UsageError('--email must be the email address of the owner.')
    if (!business?.trim()) throw new UsageError('--business must be the name of the business.')
    const account = await withHouse(house =>
      createAccount(house.platform.db, {
        email,
        business: {
          name: business,
          testMode: values['test-mode'],
          ...(values['time-zone'] && { timeZone: values['time-zone'] }),
          ...(values.currency && { currency: values.currency }),
        },
        publicUrl: config.publicUrl,
      }),
    )
    print(values.json ? JSON.stringify(account) : describeAccount(account))
  },
}

export function describeAccount(account: NewAccount): string {
  const line = (name: string, url: string, ...keys: string[]) =>
    `  ${name.padEnd(8)} ${url}\n           ${keys.join('\n           ')}`
  const { email, chat, billing } = account
  return [
    `Business ${account.businessId} of user ${account.userId}. The keys are shown only now:`,
    line('account', account.account.baseUrl, account.account.apiKey),
    line('email', email.baseUrl, email.apiKey),
    line('chat', chat.baseUrl, chat.apiKey),
    line('billing', billing.baseUrl, `${billing.apiKey} (API key)`, `${billing.secretKey} (secret key)`),
  ].join('\n')
}
