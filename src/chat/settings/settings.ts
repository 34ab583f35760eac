import type { Database, Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { conflict, fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { remember } from '../recent.ts'
import { syncQueue } from '../templates/jobs.ts'
import * as store from './store.ts'

export type Setting = store.SettingRow

/** Every business has a chat record from the first time it is looked at; it starts with the sandbox. */
export async function getSetting(db: Db, businessId: string): Promise<Setting> {
  const found = await store.settingOf(db, businessId)
  if (found) return found
  await store.insertSetting(db, businessId, newId())
  return (await store.settingOf(db, businessId)) ?? fail(new Error('The chat settings vanished.'))
}

/** For every message and contact; a change made by another process holds within a second. */
export function recentSetting(platform: Platform, businessId: string): Promise<Setting> {
  return recentOf(platform).ofBusiness.get(businessId)
}

export function forgetRecentSetting(platform: Platform, businessId: string): void {
  recentOf(platform).ofBusiness.forget(businessId)
}

/** For every delivery of the platform, found by the id in its address. */
export const recentSettingsById = (platform: Platform) => recentOf(platform).byId

const recent = new WeakMap<Platform, ReturnType<typeof rememberSettings>>()

function recentOf(platform: Platform) {
  let known = recent.get(platform)
  if (!known) {
    known = rememberSettings(platform)
    recent.set(platform, known)
  }
  return known
}

const rememberSettings = ({ db }: Platform) => ({
  ofBusiness: remember(businessId => getSetting(db, businessId)),
  byId: remember(id => store.settingById(db, id)),
})

export interface ChannelChange {
  type?: Setting['type']
  baseUrl?: string
  phoneNumberId?: string
  businessAccountId?: string
  accessToken?: string
  appSecret?: string
  verifyToken?: string
  enforceWindow?: boolean | null
  messagesPerSecond?: number
  marketingEndpoint?: boolean
}

const sealed = ['accessToken', 'appSecret', 'verifyToken'] as const
type SecretName = (typeof sealed)[number] | 'previousAppSecret'
const contextOf = (businessId: string) => `chat:${businessId}`

export function openSecret(secrets: Secrets, setting: Setting, name: SecretName): string | undefined {
  const value = setting[name]
  return value === null ? undefined : secrets.decrypt(value, contextOf(setting.businessId))
}

/** Saving lifts what the platform had stopped: whoever saves has looked at it. A newly connected account brings its templates. */
export async function changeChannel(
  platform: Platform,
  db: Database,
  businessId: string,
  change: ChannelChange,
): Promise<Setting> {
  const { secrets, jobs } = platform
  const saved = await db.begin(async tx => {
    await getSetting(tx, businessId)
    const before = await store.lockSetting(tx, businessId)
    const after = { ...before }
    const { accessToken: _token, appSecret: _secret, verifyToken: _verify, ...plain } = change
    Object.assign(after, plain)
    for (const name of sealed) {
      const text = change[name]
      if (text === undefined) continue
      after[name] = text === '' ? null : secrets.encrypt(text, contextOf(businessId))
    }
    // The old secret stays valid beside the new one: deliveries that were signed before the change still arrive.
    if (change.appSecret && change.appSecret !== openSecret(secrets, before, 'appSecret'))
      after.previousAppSecret = before.appSecret
    if (change.baseUrl) after.baseUrl = readBaseUrl(change.baseUrl)
    if (after.type === 'cloud') requireComplete(after)
    if (connectsAnew(before, after)) await jobs.enqueue(tx, syncQueue, { businessId }, { singletonKey: businessId })
    return store.updateSetting(tx, businessId, after)
  })
  forgetRecentSetting(platform, businessId)
  recentSettingsById(platform).forget(saved.id)
  return saved
}

const connectsAnew = (before: Setting, after: Setting) =>
  after.type === 'cloud' &&
  after.businessAccountId !== '' &&
  (['type', 'baseUrl', 'businessAccountId', 'accessToken'] as const).some(name => before[name] !== after[name])

function readBaseUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw invalidField('baseUrl', 'must be a URL such as https://graph.example.com/v23.0')
  return url.href.replace(/\/+$/, '')
}

function requireComplete(setting: Setting): void {
  const missing = (['baseUrl', 'phoneNumberId', 'accessToken'] as const).filter(name => !setting[name])
  if (missing.length > 0)
    throw unprocessable(
      'channel_incomplete',
      `The cloud channel also needs ${missing.join(', ')}.`,
      missing.map(field => ({ field, message: 'is required for the cloud channel' })),
    )
}

/** Free-form messages need an open window on the real channel; in the sandbox a first try must work. */
export const windowEnforced = (setting: Setting) => setting.enforceWindow ?? setting.type === 'cloud'

/** Tags and attributes: the names contacts may carry. */
export async function addName(db: Db, table: store.NameTable, businessId: string, name: string): Promise<string> {
  const what = table === 'chat_tag' ? 'tag' : 'attribute'
  const row = await store.insertName(db, table, businessId, name.trim())
  if (!row) throw conflict(`${what}_taken`, `The ${what} "${name.trim()}" exists already.`)
  return row.name
}

/** Spec silent: contacts keep a name they already carry; it only can't be given any more. */
export async function removeName(db: Db, table: store.NameTable, businessId: string, name: string): Promise<string> {
  const row = await store.deleteName(db, table, businessId, name.trim())
  return (row ?? fail(notFound(table === 'chat_tag' ? 'Tag' : 'Attribute'))).name
}

/** Answers the wanted names that the settings lack. */
export async function missingNames(
  db: Db,
  table: store.NameTable,
  businessId: string,
  wanted: readonly string[],
): Promise<string[]> {
  if (wanted.length === 0) return []
  const known = await store.knownNames(db, table, businessId, [...wanted])
  return [...new Set(wanted)].filter(name => !known.has(name))
}
