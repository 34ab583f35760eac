import { createHash } from 'node:crypto'
import { clockIsSet } from '../../accounts/store.ts'
import type { Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { unprocessable } from '../../platform/problem.ts'
import { contentOf, getMedia, isOurs } from '../media/content.ts'
import type { Setting } from '../settings/settings.ts'
import { templatesNamed } from '../templates/store.ts'
import type { Channel, Outcome, PlatformAnswer } from './channel.ts'
import { readRefusal } from './cloud.ts'
import { type News, receiveSend } from './sandbox-platform.ts'
import * as store from './store.ts'

export const sandboxNumber = '15550100000'
const approvalMs = 2_000

/**
 * The channel that needs no account and leaves nothing out of the machine. It accepts like the platform and reports
 * like the platform: its news are written where the platform's webhooks are written, and arrive a moment later.
 */
export function sandboxChannel(db: Db, setting: Pick<Setting, 'businessId' | 'id'>): Channel {
  const { businessId } = setting
  const site = { phoneNumberId: `sandbox-${setting.id}`, displayNumber: sandboxNumber }
  const report = (news: readonly News[], now: Date) => reportNews(db, businessId, { news, now, accountId: setting.id })

  return {
    async send(payload, { now }) {
      const { to, biz_opaque_callback_data: ours } = payload as { to?: string; biz_opaque_callback_data?: string }
      if (to?.endsWith(unreachable)) return { result: 'not_sent', reason: 'The sandbox plays a platform that is away.' }
      const { status, body, news } = await receiveSend(payload, {
        ...site,
        now,
        seed: ours ?? newId(),
        findTemplate: async (name, language) =>
          (await templatesNamed(db, businessId, name)).find(one => one.language === language),
      })
      if (status !== 200) return { result: 'refused', error: readRefusal(status, body, {}) }
      await report(news, now)
      if (to?.endsWith(dropped)) return { result: 'unknown', reason: 'The sandbox plays an answer that got lost.' }
      const answer = { ...(body as Omit<PlatformAnswer, 'status'>), status }
      return { result: 'accepted', platformId: answer.messages[0]!.id, answer } satisfies Outcome
    },
    markRead: async () => {},
    async createTemplate({ definition, now }) {
      const { name, language, category } = definition
      const platformId = digitsOf(createHash('sha256').update(`${setting.id}:${name}:${language}`).digest('hex'))
      // Spec silent: a name with "reject" in it plays a template that the review refuses.
      const event = name.includes('reject') ? 'REJECTED' : 'APPROVED'
      const value = {
        event,
        message_template_id: Number(platformId),
        message_template_name: name,
        message_template_language: language,
        message_template_category: category,
        reason: event === 'REJECTED' ? 'INVALID_FORMAT' : 'NONE',
      }
      // A test clock stands still, and nobody should have to move it to be able to send.
      const afterMs = (await clockIsSet(db, businessId)) ? 0 : approvalMs
      await report([{ afterMs, change: { field: 'message_template_status_update', value } }], now)
      return { platformId, status: 'PENDING', category }
    },
    uploadMedia: async ({ content }) => digitsOf(createHash('sha256').update(content).digest('hex')),
    /** Spec silent: a person of the sandbox sends a file that was uploaded before, by the id it has with us. */
    async fetchMedia(id) {
      const media = isOurs(id) ? await getMedia(db, businessId, id) : undefined
      if (!media) throw unprocessable('media_id_invalid', 'In the sandbox people send files that you uploaded, by _id.')
      const pieces = await Array.fromAsync(contentOf(db, businessId, id))
      return { content: Buffer.concat(pieces), mimeType: media.mimeType }
    },
    listTemplates: async () => undefined,
  }
}

const digitsOf = (hex: string) => BigInt(`0x${hex.slice(0, 12)}`).toString()

/** Further magic numbers: the platform away before anything was sent, and an answer lost after it was accepted. */
const unreachable = '999502'
const dropped = '999504'

export async function reportNews(
  db: Db,
  businessId: string,
  { news, now, accountId }: { news: readonly News[]; now: Date; accountId: string },
): Promise<void> {
  await store.insertWebhooks(
    db,
    businessId,
    news.map(({ afterMs, change }) => {
      const entry = { id: accountId, time: Math.floor(now.getTime() / 1000), changes: [change] }
      return {
        id: newId(),
        body: Buffer.from(JSON.stringify({ object: 'whatsapp_business_account', entry: [entry] })),
        receivedAt: now,
        notBefore: new Date(now.getTime() + afterMs),
      }
    }),
  )
}
