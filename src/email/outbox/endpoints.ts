import PostalMime from 'postal-mime'
import { Type } from 'typebox'
import { type Call, endpoint, Raw } from '../../platform/endpoint.ts'
import { type Html, html } from '../../platform/html.ts'
import { pageRequest } from '../../platform/page.ts'
import { Id, PageQuery, Timestamp } from '../../platform/schema.ts'
import { page } from '../../platform/site/page.ts'
import { envelope, ok } from '../envelope.ts'
import { pagination } from '../lists/endpoints.ts'
import { PaginationSchema } from '../lists/schema.ts'
import { outboxLink, readOutboxToken } from './outbox.ts'
import * as store from './store.ts'

type TokenPath = { token: string }
type MessagePath = TokenPath & { delivery_id: string }

const perPage = 50

const shell = (title: string, body: Html, more: { status?: number; headers?: Record<string, string> } = {}) =>
  page({ language: 'en', title, heading: 'Outbox', body: html`<div class="page">${body}</div>`, ...more })
const closed = () =>
  shell(
    'Not here',
    html`<h1>Not here</h1><p>Open the link that <code>npm start</code> prints, or ask <code>GET /email/api/v2/outbox</code> for it.</p>`,
    { status: 404 },
  )

export const list = endpoint({
  summary: 'Mail kept in the outbox because the business has no delivery server, newest first',
  description: '`url` is the page that shows it; each message has its own. Kept for 30 days.',
  query: Type.Object(PageQuery),
  answer: envelope(
    Type.Object({
      url: Type.String(),
      messages: Type.Array(
        Type.Object({
          deliveryId: Id,
          email: Type.String(),
          subject: Type.String(),
          url: Type.String(),
          createdAt: Timestamp,
        }),
      ),
      pagination: PaginationSchema,
    }),
  ),
  run: async ({ platform, db, business, query }) => {
    const at = pageRequest(query)
    const url = outboxLink(platform, business.id)
    const [entries, total] = await Promise.all([store.newest(db, business.id, at), store.count(db, business.id)])
    const messages = entries.map(({ deliveryId, email, subject, at: createdAt }) => ({
      deliveryId,
      email,
      subject,
      url: `${url}/${deliveryId}`,
      createdAt,
    }))
    return ok('Outbox', { url, messages, pagination: pagination(at, total) })
  },
})

const when = (at: Date) => at.toISOString().replace('T', ' ').slice(0, 19)

export const showOutbox = endpoint({
  summary: 'Mail captured instead of being sent',
  run: async call => {
    const { token } = call.params as TokenPath
    const businessId = readOutboxToken(call.platform, token)
    if (!businessId) return closed()
    const number = Math.min(Math.max(Number((call.query as { page?: string }).page) || 1, 1), 1_000_000)
    const at = { limit: perPage, offset: (Math.trunc(number) - 1) * perPage }
    const [entries, total] = await Promise.all([
      store.newest(call.db, businessId, at),
      store.count(call.db, businessId),
    ])
    const row = (entry: store.OutboxEntry) =>
      html`<tr><td>${when(entry.at)}</td><td>${entry.email}</td><td><a href="/outbox/${token}/${entry.deliveryId}">${entry.subject || '(no subject)'}</a></td></tr>`
    const link = (to: number, label: string) => html`<a href="/outbox/${token}?page=${to}">${label}</a> `
    return shell(
      'Outbox',
      html`<h1>${total} messages</h1>
<p>This business has no delivery server, so its mail is kept here and none leaves the machine.</p>
<table><thead><tr><th>Sent (UTC)</th><th>To</th><th>Subject</th></tr></thead><tbody>${entries.map(row)}</tbody></table>
<p>${number > 1 && link(number - 1, 'Newer')}${number * perPage < total && link(number + 1, 'Older')}</p>`,
    )
  },
})

async function findMessage(call: Call) {
  const { token, delivery_id } = call.params as MessagePath
  const businessId = readOutboxToken(call.platform, token)
  return businessId ? store.messageOf(call.db, businessId, delivery_id) : undefined
}

export const showMessage = endpoint({
  summary: 'One captured message: HTML, text and headers',
  run: async call => {
    const found = await findMessage(call)
    if (!found) return closed()
    const { token, delivery_id } = call.params as MessagePath
    const mail = await PostalMime.parse(found.message)
    const source = found.message.toString('utf8')
    const head = source.slice(0, source.indexOf('\r\n\r\n'))
    const attachments = mail.attachments.map(one => one.filename ?? 'attachment')
    return shell(
      found.subject,
      html`<p><a href="/outbox/${token}">All messages</a></p><h1>${found.subject}</h1>
<p>To ${found.email}, ${when(found.at)} UTC${attachments.length > 0 && html`, with ${attachments.join(', ')}`}</p>
<iframe title="HTML of the message" src="/outbox/${token}/${delivery_id}/html" width="100%" height="600" sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe>
<h2>Text</h2><pre>${mail.text ?? ''}</pre>
<h2>Headers</h2><pre>Return-Path: &lt;${found.envelopeFrom}&gt;
${head}</pre>`,
      {
        headers: {
          'content-security-policy':
            "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        },
      },
    )
  },
})

/** The message as it would be shown, in a cage: no script, no form, no way to the page around it. */
export const showHtml = endpoint({
  summary: 'The HTML of a captured message',
  run: async call => {
    const found = await findMessage(call)
    if (!found) return closed()
    const mail = await PostalMime.parse(found.message)
    const body = `<base target="_blank">${mail.html ?? ''}`
    return new Raw('text/html; charset=utf-8', body, {
      headers: {
        'content-security-policy': `sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src ${call.platform.config.publicUrl} https: data:; base-uri 'none'; form-action 'none'`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      },
    })
  },
})
