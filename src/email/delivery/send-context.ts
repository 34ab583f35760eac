import type { Db } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { markHeader } from '../bounces/notice.ts'
import { type CompiledContent, compileContent } from './compile-content.ts'
import { type CompiledMessage, compileMessage } from './compile-message.ts'
import { individual } from './lanes.ts'
import type * as servers from './store-servers.ts'
import * as store from './store-work.ts'
import { systemCampaign } from './system-mail.ts'

/** A send as the engine holds it: its row, and its message compiled once for each sender address. */
export interface SendContext {
  businessId: string
  row: store.SendRow
  /** asked for by what a person did: no tracking, no unsubscribe link, and an opt-out from marketing does not stop it */
  isSystem: boolean
  senderAddress(server: Pick<servers.ServerRow, 'senderEmail'> | undefined): string
  messageFor(server: Pick<servers.ServerRow, 'senderEmail' | 'provider'> | undefined): Promise<CompiledMessage>
}

export interface SendContexts {
  get(businessId: string, sendId: string): Promise<SendContext | undefined>
}

const mostContents = 50
const mostSends = 500

/** Keeps what was compiled; the same content sent again by another call is not compiled again. */
export function createSendContexts(db: Db, platform: Pick<Platform, 'config'>): SendContexts {
  const contents = new Map<string, Promise<CompiledContent>>()
  const sends = new Map<string, SendContext>()

  const contentOf = (businessId: string, contentId: string, tracked: boolean) =>
    cached(contents, `${businessId}:${contentId}`, mostContents, async () => {
      const row = await store.contentById(db, businessId, contentId)
      if (!row) throw new Error(`The content ${contentId} of a send is gone.`)
      const compiled = await compileContent(row, { tracked })
      if (row.links === null) await store.keepLinks(db, businessId, contentId, compiled.links)
      return compiled
    })

  return {
    async get(businessId, sendId) {
      const key = `${businessId}:${sendId}`
      const row = await store.sendById(db, businessId, sendId)
      if (!row) return undefined
      const known = sends.get(key)
      if (known) {
        known.row = row
        return known
      }
      const context = makeContext(db, platform, businessId, row, () =>
        contentOf(businessId, row.contentId, row.campaignId !== systemCampaign.id),
      )
      if (sends.size >= mostSends) sends.delete(sends.keys().next().value as string)
      sends.set(key, context)
      return context
    },
  }
}

function makeContext(
  db: Db,
  { config }: Pick<Platform, 'config'>,
  businessId: string,
  row: store.SendRow,
  content: () => Promise<CompiledContent>,
): SendContext {
  const messages = new Map<string, Promise<CompiledMessage>>()
  const isSystem = row.campaignId === systemCampaign.id
  const context: SendContext = {
    businessId,
    row,
    isSystem,
    senderAddress: server => row.senderEmail || server?.senderEmail || `news@${config.mailDomain}`,
    messageFor(server) {
      const address = context.senderAddress(server)
      const provider = server?.provider
      return cached(messages, `${provider ?? ''}:${address}`, 10, async () => {
        const domain = address.slice(address.lastIndexOf('@') + 1)
        return compileMessage(await content(), {
          from: { name: row.fromName, address },
          subject: row.subject,
          attachments: await store.attachmentsOf(db, businessId, row.id),
          headers: headersOf(businessId, row, domain, isSystem),
          unsubscribable: !isSystem,
          ...(provider && { markHeader: markHeader[provider] }),
          publicUrl: config.publicUrl,
          messageIdDomain: domain,
        })
      })
    },
  }
  return context
}

function headersOf(businessId: string, row: store.SendRow, domain: string, isSystem: boolean): Record<string, string> {
  if (isSystem) return { 'Auto-Submitted': 'auto-generated' }
  const kind = row.lane === individual ? 'individual' : 'campaign'
  return {
    'List-Id': `<${row.campaignId}.${businessId}.${domain}>`,
    // The last part names the sender to Gmail: five to fifteen characters, the same for all mail of a business.
    'Feedback-ID': `${row.campaignId}:${row.id}:${kind}:${businessId.slice(-12)}`,
    ...(row.lane === individual && { 'Auto-Submitted': 'auto-generated' }),
  }
}

/** What failed is not kept, so that the next one tries again. */
function cached<T>(map: Map<string, Promise<T>>, key: string, most: number, make: () => Promise<T>): Promise<T> {
  const known = map.get(key)
  if (known) return known
  const made = make()
  made.catch(() => map.delete(key))
  if (map.size >= most) map.delete(map.keys().next().value as string)
  map.set(key, made)
  return made
}
