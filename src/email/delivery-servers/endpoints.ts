import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { Choice, Id, IdInPath, NotBlank, Timestamp } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import * as rules from './delivery-servers.ts'
import * as store from './store.ts'

const Host = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: '^[A-Za-z0-9.:\\[\\]-]+$',
  patternMessage: 'must be a host name or address',
})
const Security = Choice(['none', 'starttls', 'tls'])
const Line = Type.String({ maxLength: 200, pattern: '^[^\\r\\n]*$', patternMessage: 'must be one line' })

export const ServerSchema = Type.Object({
  id: Id,
  name: Type.String(),
  host: Type.String(),
  port: Type.Integer(),
  security: Security,
  username: Type.String(),
  hasPassword: Type.Boolean(),
  senderEmail: Type.String(),
  senderName: Type.String(),
  isDefault: Type.Boolean(),
  maxConnections: Type.Integer(),
  maxPerSecond: Type.Integer(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const settings = {
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  security: Type.Optional(Security),
  username: Type.Optional(Line),
  password: Type.Optional(Type.String({ maxLength: 1_000 })),
  senderEmail: Type.Optional(Type.String({ maxLength: 254 })),
  senderName: Type.Optional(Line),
  isDefault: Type.Optional(Type.Boolean()),
  maxConnections: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  maxPerSecond: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, description: '0: no limit' })),
}
const InPath = Type.Object({ id: IdInPath })
const Name = NotBlank({ maxLength: 200 })
const show = ({ sealedPassword, ...server }: store.ServerRow) => ({ ...server, hasPassword: sealedPassword !== '' })
const One = envelope(Type.Object({ deliveryServer: ServerSchema }))

export const create = endpoint({
  summary: 'Add a delivery server (SMTP)',
  body: Type.Object({ name: Name, host: Host, ...settings }),
  answer: One,
  run: async ({ platform, db, business, body, created }) => {
    const server = await rules.createServer(platform, db, business, pick(body))
    created()
    return ok('Delivery server added', { deliveryServer: show(server) })
  },
})

export const list = endpoint({
  summary: 'Delivery servers',
  answer: envelope(Type.Object({ deliveryServers: Type.Array(ServerSchema) })),
  run: async ({ db, business }) =>
    ok('Delivery servers', { deliveryServers: (await store.all(db, business.id)).map(show) }),
})

export const get = endpoint({
  summary: 'Get a delivery server',
  params: InPath,
  answer: One,
  run: async ({ db, business, params }) =>
    ok('Delivery server', { deliveryServer: show(await rules.getServer(db, business.id, params.id)) }),
})

export const update = endpoint({
  summary: 'Change a delivery server; an omitted password stays',
  params: InPath,
  body: Type.Object({ name: Type.Optional(Name), host: Type.Optional(Host), ...settings }),
  answer: One,
  run: async ({ platform, db, business, params, body }) =>
    ok('Delivery server updated', {
      deliveryServer: show(await rules.updateServer(platform, db, business, params.id, pick(body))),
    }),
})

export const remove = endpoint({
  summary: 'Remove a delivery server',
  params: InPath,
  answer: One,
  run: async ({ db, business, params }) =>
    ok('Delivery server removed', { deliveryServer: show(await rules.removeServer(db, business.id, params.id)) }),
})

export const test = endpoint({
  summary: 'Connect to a delivery server and log in, without sending',
  params: InPath,
  answer: envelope(Type.Object({ works: Type.Boolean(), reply: Type.String() })),
  effects: 'outside',
  run: async ({ platform, db, business, params }) =>
    ok('Delivery server tested', await rules.testServer(platform, db, business.id, params.id)),
})

const names = [
  'name',
  'host',
  'port',
  'security',
  'username',
  'password',
  'senderEmail',
  'senderName',
  'isDefault',
  'maxConnections',
  'maxPerSecond',
] as const

/** Unknown body fields are ignored, so only known ones may reach the row. */
const pick = <T extends object>(body: T): T =>
  Object.fromEntries(
    Object.entries(body).filter(([name, value]) => names.includes(name as never) && value !== undefined),
  ) as T
