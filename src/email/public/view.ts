import PostalMime from 'postal-mime'
import { type Call, endpoint, Raw } from '../../platform/endpoint.ts'
import { html } from '../../platform/html.ts'
import { page } from '../../platform/site/page.ts'
import { compileContent } from '../delivery/compile-content.ts'
import { compileMessage, mergeDataOf } from '../delivery/compile-message.ts'
import { mergeDataFor } from '../delivery/merge-data.ts'
import { sendIdOf } from '../delivery/send-id.ts'
import { contentById, sendById } from '../delivery/store-work.ts'
import { readTrackToken, tokensOf } from '../delivery/tokens.ts'
import { recipientOf } from '../tracking/store.ts'
import { publicTexts } from './texts.ts'

/** A message in the browser, for `{{ viewUrl }}`: as it was sent to this person, made again from what was kept. */
async function findMessage({ platform, db }: Call, token: string): Promise<string | undefined> {
  const name = readTrackToken(platform.secrets, token)
  if (!name) return undefined
  const { businessId, deliveryId } = name
  const [send, person] = await Promise.all([
    sendById(db, businessId, sendIdOf(deliveryId)),
    recipientOf(db, businessId, deliveryId),
  ])
  const content = send && (await contentById(db, businessId, send.contentId))
  if (!send || !content || !person) return undefined
  const message = await compileMessage(await compileContent(content), {
    from: { name: send.fromName, address: `view@${platform.config.mailDomain}` },
    subject: send.subject,
    attachments: [],
    headers: {},
    publicUrl: platform.config.publicUrl,
    messageIdDomain: platform.config.mailDomain,
  })
  const tokens = tokensOf(platform.secrets, name)
  const recipient = {
    deliveryId,
    email: person.email,
    trackToken: tokens.track,
    unsubscribeToken: tokens.unsubscribe,
    data: mergeDataFor(person),
  }
  mergeDataOf(recipient, platform.config.publicUrl)
  const filled = message.fill(recipient, new Date(), Buffer.alloc(0))
  return (await PostalMime.parse(filled.buffer.subarray(0, filled.length))).html
}

export const showMessage = endpoint({
  summary: 'A message in the browser',
  run: async call => {
    const message = await findMessage(call, (call.params as { token: string }).token)
    if (message === undefined) {
      const texts = publicTexts(call.headers)
      return page({
        language: texts.language,
        title: texts.missing,
        status: 404,
        narrow: true,
        body: html`<div class="page narrow"><div class="card stack"><h1>${texts.missing}</h1><p>${texts.missingText}</p></div></div>`,
      })
    }
    return new Raw('text/html; charset=utf-8', message, {
      headers: {
        // What a sender wrote is shut in: it runs nothing, and is of no origin, so it can't reach our cookies.
        'content-security-policy': `sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; default-src 'none'; style-src 'unsafe-inline' https:; font-src https:; img-src ${call.platform.config.publicUrl} https: http: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-robots-tag': 'noindex',
      },
    })
  },
})
