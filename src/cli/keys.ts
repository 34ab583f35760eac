import { parseArgs } from 'node:util'
import { createKey, keyServices, revokeKey } from '../accounts/keys.ts'
import { keysOf } from '../accounts/store.ts'
import { type Command, type Console, requireBusiness, UsageError } from './command.ts'

export const keysCommand: Command = {
  usage:
    'keys create --business ID --service S [--name N] [--read-only] | keys list --business ID | keys revoke --business ID --key ID   [--json]',
  async run(console) {
    const [action, ...rest] = console.args
    const { values } = parseArgs({
      args: rest,
      options: {
        business: { type: 'string' },
        service: { type: 'string' },
        name: { type: 'string', default: '' },
        key: { type: 'string' },
        'read-only': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    })
    if (!values.business) throw new UsageError('--business must be the id of the business.')
    if (action === 'create') return create(console, { ...values, business: values.business })
    if (action === 'list') return list(console, values.business, values.json)
    if (action === 'revoke') return revoke(console, values.business, values.key)
    throw new UsageError('Expected: keys create, keys list or keys revoke')
  },
}

async function create(
  { print, withHouse }: Console,
  options: { business: string; service?: string; name: string; 'read-only': boolean; json: boolean },
): Promise<void> {
  const service = keyServices.find(known => known === options.service)
  if (!service) throw new UsageError(`--service must be one of ${keyServices.join(', ')}.`)
  const key = await withHouse(async ({ platform: { db } }) => {
    const { id } = await requireBusiness(db, options.business)
    return createKey(db, id, { service, name: options.name, readOnly: options['read-only'] })
  })
  if (options.json) return print(JSON.stringify(key))
  print(
    `Key ${key.id} for ${service}. It is shown only now:\n  ${key.apiKey}${key.secretKey ? `\n  ${key.secretKey} (secret key)` : ''}`,
  )
}

async function list({ print, withHouse }: Console, businessId: string, json: boolean): Promise<void> {
  const keys = await withHouse(async ({ platform: { db } }) => keysOf(db, (await requireBusiness(db, businessId)).id))
  if (json) return print(JSON.stringify(keys))
  for (const key of keys) {
    const state = key.revokedAt ? 'revoked' : key.readOnly ? 'read-only' : 'active'
    print(
      `${key.id}  ${key.service.padEnd(8)} ${key.hint}  ${state.padEnd(9)} ${key.createdAt.toISOString()}  ${key.name}`,
    )
  }
}

async function revoke({ print, withHouse }: Console, businessId: string, keyId: string | undefined): Promise<void> {
  if (!keyId) throw new UsageError('--key must be the id of the key, as `keys list` shows it.')
  await withHouse(async ({ platform: { db } }) => revokeKey(db, (await requireBusiness(db, businessId)).id, keyId))
  print(`Key ${keyId} is revoked; it stops working within a second everywhere.`)
}
