import { type Db, first } from '../../platform/database.ts'

export interface ListRow {
  _id: string
  name: string
  createdAt: Date
  incomingBlocked: boolean
  tags: string[]
  optin: boolean
  attributes: { _id: string; name: string; value: string }[]
}

const columns = (db: Db) => db`
  id as _id, name, created_at as "createdAt", incoming_blocked as "incomingBlocked", tags, optin, attributes`

export const insertList = (db: Db, businessId: string, list: { id: string; name: string; now: Date }) =>
  db<ListRow[]>`
  insert into chat_list (business_id, id, name, created_at) values (${businessId}, ${list.id}, ${list.name}, ${list.now})
  on conflict (business_id, lower(name)) do nothing returning ${columns(db)}`.then(first)

export const lists = (db: Db, businessId: string) => db<ListRow[]>`
  select ${columns(db)} from chat_list where business_id = ${businessId} order by created_at desc, id desc`

export const listsNamed = (db: Db, businessId: string, wanted: string[]) => db<{ name: string }[]>`
  select name from chat_list where business_id = ${businessId} and lower(name) = any(${wanted.map(name => name.toLowerCase())})`
