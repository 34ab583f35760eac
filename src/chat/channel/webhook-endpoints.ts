import { createHmac, timingSafeEqual } from 'node:crypto'
import { Type } from 'typebox'
import { type Call, endpoint, Raw } from '../../platform/endpoint.ts'
import { newId } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { fail, forbidden, notFound, Problem } from '../../platform/problem.ts'
import { together } from '../batch.ts'
import { openSecret, recentSettingsById, type Setting } from '../settings/settings.ts'
import { wakeIntake } from './loops.ts'
import * as store from './store.ts'

const maxBytes = 3 * 1024 * 1024
const SettingInPath = Type.Object({ settingId: Type.String({ minLength: 1, maxLength: 100 }) })

/** The setting, where it fits; asked anew before it is refused, because a secret may have been changed a moment ago. */
async function findSetting(
  platform: Platform,
  id: string,
  fits: (setting: Setting) => boolean,
): Promise<Setting | undefined> {
  const recent = recentSettingsById(platform)
  const setting = (await recent.get(id)) ?? fail(notFound('Webhook'))
  if (fits(setting)) return setting
  if (!recent.doubt(id)) return undefined
  const fresh = await recent.get(id)
  return fresh && fits(fresh) ? fresh : undefined
}

const inserts = new WeakMap<Platform, (businessId: string, webhook: store.NewWebhook) => Promise<void>>()

/** Deliveries that come at the same moment share a commit. */
function insertOf(platform: Platform) {
  let insert = inserts.get(platform)
  if (!insert) {
    insert = together(
      async (businessId, webhooks: store.NewWebhook[]) => {
        await store.insertWebhooks(platform.db, businessId, webhooks)
        return webhooks.map(() => undefined)
      },
      { maxItems: 200, maxParallel: 2 },
    )
    inserts.set(platform, insert)
  }
  return insert
}

export const handshake = endpoint({
  summary: 'The platform asks whether this address is ours',
  params: SettingInPath,
  run: async ({ platform, params, query }) => {
    const asked = query as Record<string, unknown>
    const given = Buffer.from(String(asked['hub.verify_token'] ?? ''))
    const setting = await findSetting(platform, params.settingId, setting => {
      const token = openSecret(platform.secrets, setting, 'verifyToken')
      return asked['hub.mode'] === 'subscribe' && token !== undefined && same(given, Buffer.from(token))
    })
    if (!setting) throw forbidden('verify_token_wrong', 'The verify token is not the one in the channel settings.')
    return new Raw('text/plain; charset=utf-8', String(asked['hub.challenge'] ?? ''), {
      headers: { 'x-content-type-options': 'nosniff' },
    })
  },
})

/** Verified, written down, committed, answered; everything else happens from the table. */
export const receive = endpoint({
  summary: 'The platform tells what happened',
  params: SettingInPath,
  accepts: 'bytes',
  maxBytes,
  rateLimited: false,
  answer: Type.Object({ status: Type.Literal('success') }),
  run: async ({ platform, params, body, headers }) => {
    const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
    const setting = await findSetting(platform, params.settingId, setting => isSigned(platform, setting, raw, headers))
    if (!setting) throw unsigned()
    const now = new Date()
    // Real news is due at once, also where a business lives by a clock of its own.
    await insertOf(platform)(setting.businessId, { id: newId(), body: raw, receivedAt: now, notBefore: new Date(0) })
    wakeIntake(platform)
    return { status: 'success' as const }
  },
})

const unsigned = () =>
  new Problem(401, 'signature_wrong', 'X-Hub-Signature-256 is missing or does not fit the body and the app secret.')

/** Over the raw bytes: parsing and writing the body again would change its escapes. The old secret counts during a change. */
function isSigned(platform: Platform, setting: Setting, raw: Buffer, headers: Call['headers']): boolean {
  const [, hex] = /^sha256=([0-9a-f]{64})$/i.exec(String(headers['x-hub-signature-256'] ?? '')) ?? []
  if (hex === undefined) return false
  const given = Buffer.from(hex, 'hex')
  return (['appSecret', 'previousAppSecret'] as const).some(name => {
    const secret = openSecret(platform.secrets, setting, name)
    return secret !== undefined && same(given, createHmac('sha256', secret).update(raw).digest())
  })
}

const same = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b)
