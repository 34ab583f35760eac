import { type Db, first, only } from '../../platform/database.ts'

export interface ServerRow {
  id: string
  name: string
  host: string
  port: number
  security: 'none' | 'starttls' | 'tls'
  username: string
  sealedPassword: string
  senderEmail: string
  senderName: string
  isDefault: boolean
  maxConnections: number
  maxPerSecond: number
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, name, host, port, security, username, sealed_password as "sealedPassword", sender_email as "senderEmail",
  sender_name as "senderName", is_default as "isDefault", max_connections as "maxConnections", max_per_second as "maxPerSecond",
  created_at as "createdAt", updated_at as "updatedAt"`

export const all = (db: Db, businessId: string) => db<ServerRow[]>`
  select ${columns(db)} from email_delivery_server where business_id = ${businessId} order by id`

export const find = (db: Db, businessId: string, id: string) =>
  db<
    ServerRow[]
  >`select ${columns(db)} from email_delivery_server where business_id = ${businessId} and id = ${id}`.then(first)

/** At most one is the default: the others step back in the same transaction. */
export const clearDefault = (db: Db, businessId: string) => db`
  update email_delivery_server set is_default = false where business_id = ${businessId} and is_default`

export type SavedServer = Omit<ServerRow, 'createdAt' | 'updatedAt'>

export const save = (db: Db, businessId: string, server: SavedServer, now: Date) =>
  db<ServerRow[]>`
  insert into email_delivery_server (business_id, id, name, host, port, security, username, sealed_password, sender_email, sender_name,
    is_default, max_connections, max_per_second, created_at, updated_at)
  values (${businessId}, ${server.id}, ${server.name}, ${server.host}, ${server.port}, ${server.security}, ${server.username},
    ${server.sealedPassword}, ${server.senderEmail}, ${server.senderName}, ${server.isDefault}, ${server.maxConnections},
    ${server.maxPerSecond}, ${now}, ${now})
  on conflict (business_id, id) do update set name = excluded.name, host = excluded.host, port = excluded.port,
    security = excluded.security, username = excluded.username, sealed_password = excluded.sealed_password,
    sender_email = excluded.sender_email, sender_name = excluded.sender_name, is_default = excluded.is_default,
    max_connections = excluded.max_connections, max_per_second = excluded.max_per_second, updated_at = excluded.updated_at
  returning ${columns(db)}`.then(only)

export const scheduledThrough = (db: Db, businessId: string, id: string) =>
  db<{ name: string }[]>`
  select name from email_campaign
  where business_id = ${businessId} and status = 'scheduled' and delivery_server_id = ${id} limit 1`.then(first)

export const remove = (db: Db, businessId: string, id: string) =>
  db<ServerRow[]>`
  delete from email_delivery_server where business_id = ${businessId} and id = ${id} returning ${columns(db)}`.then(
    first,
  )
