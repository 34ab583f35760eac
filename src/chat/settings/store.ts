import { type Db, first, only } from '../../platform/database.ts'

export type NameTable = 'chat_tag' | 'chat_attribute'

export const names = (db: Db, table: NameTable, businessId: string) =>
  db<{ name: string }[]>`select name from ${db(table)} where business_id = ${businessId} order by name`.then(rows =>
    rows.map(row => row.name),
  )

export const knownNames = (db: Db, table: NameTable, businessId: string, wanted: string[]) =>
  db<{ name: string }[]>`
  select name from ${db(table)} where business_id = ${businessId} and name = any(${wanted})`.then(
    rows => new Set(rows.map(row => row.name)),
  )

export const insertName = (db: Db, table: NameTable, businessId: string, name: string) =>
  db<{ name: string }[]>`
  insert into ${db(table)} (business_id, name) values (${businessId}, ${name})
  on conflict do nothing returning name`.then(first)

export const deleteName = (db: Db, table: NameTable, businessId: string, name: string) =>
  db<{ name: string }[]>`
  delete from ${db(table)} where business_id = ${businessId} and name = ${name} returning name`.then(first)

/** What the platform stopped: a number, its marketing, its templates, a country, the account. */
export interface Halt {
  code: number
  title: string
  at: string
}

export interface SettingRow {
  businessId: string
  id: string
  type: 'sandbox' | 'cloud'
  baseUrl: string
  phoneNumberId: string
  businessAccountId: string
  accessToken: string | null
  appSecret: string | null
  previousAppSecret: string | null
  verifyToken: string | null
  enforceWindow: boolean | null
  messagesPerSecond: number
  marketingEndpoint: boolean
  halted: Record<string, Halt>
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  business_id as "businessId", id, channel_type as type, base_url as "baseUrl", phone_number_id as "phoneNumberId",
  business_account_id as "businessAccountId", access_token as "accessToken", app_secret as "appSecret",
  previous_app_secret as "previousAppSecret", verify_token as "verifyToken", enforce_window as "enforceWindow",
  messages_per_second as "messagesPerSecond", marketing_endpoint as "marketingEndpoint", halted,
  created_at as "createdAt", updated_at as "updatedAt"`

export const settingOf = (db: Db, businessId: string) =>
  db<SettingRow[]>`select ${columns(db)} from chat_setting where business_id = ${businessId}`.then(first)

export const settingById = (db: Db, id: string) =>
  db<SettingRow[]>`select ${columns(db)} from chat_setting where id = ${id}`.then(first)

export const insertSetting = (db: Db, businessId: string, id: string) => db`
  insert into chat_setting (business_id, id) values (${businessId}, ${id}) on conflict (business_id) do nothing`

export type SettingChange = Omit<SettingRow, 'businessId' | 'id' | 'createdAt' | 'updatedAt' | 'halted'>

export const updateSetting = (db: Db, businessId: string, setting: SettingChange) =>
  db<SettingRow[]>`
  update chat_setting
  set channel_type = ${setting.type}, base_url = ${setting.baseUrl}, phone_number_id = ${setting.phoneNumberId},
      business_account_id = ${setting.businessAccountId}, access_token = ${setting.accessToken},
      app_secret = ${setting.appSecret}, previous_app_secret = ${setting.previousAppSecret},
      verify_token = ${setting.verifyToken}, enforce_window = ${setting.enforceWindow},
      messages_per_second = ${setting.messagesPerSecond}, marketing_endpoint = ${setting.marketingEndpoint},
      halted = '{}', updated_at = now()
  where business_id = ${businessId} returning ${columns(db)}`.then(only)

export const halt = (db: Db, businessId: string, scope: string, why: Halt) => db`
  update chat_setting set halted = halted || jsonb_build_object(${scope}::text, ${db.json(why as never)}::jsonb)
  where business_id = ${businessId}`

export const useMarketingEndpoint = (db: Db, businessId: string) => db`
  update chat_setting set marketing_endpoint = true where business_id = ${businessId}`

export const lockSetting = (db: Db, businessId: string) =>
  db<SettingRow[]>`select ${columns(db)} from chat_setting where business_id = ${businessId} for update`.then(only)

export const connectedBusinesses = (db: Db) => db<{ businessId: string }[]>`
  select business_id as "businessId" from chat_setting where channel_type = 'cloud' and business_account_id <> ''`

export const settingOwners = (db: Db) => db<{ businessId: string }[]>`
  select business_id as "businessId" from chat_setting`
