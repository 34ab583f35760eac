import { businessById } from '../../accounts/store.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Call, endpoint, type Form, Raw } from '../../platform/endpoint.ts'
import { type Html, html } from '../../platform/html.ts'
import { newId } from '../../platform/ids.ts'
import { page } from '../../platform/site/page.ts'
import { renderTemplate } from '../delivery/compile-message.ts'
import { mergeDataFor } from '../delivery/merge-data.ts'
import { sendIdOf } from '../delivery/send-id.ts'
import { type DeliveryName, readTrackToken, readUnsubscribeToken } from '../delivery/tokens.ts'
import * as lists from '../lists/store.ts'
import { eventBuffer } from './buffer.ts'
import { keepLists, unsubscribe } from './preferences.ts'
import * as store from './store.ts'

type TokenPath = { token: string }

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const neverKept = { 'cache-control': 'no-store, private', 'x-robots-tag': 'noindex' }

const hitOf = (call: Call, delivery: DeliveryName) => ({
  id: newId(),
  deliveryId: delivery.deliveryId,
  at: new Date(),
  ip: call.ip,
  userAgent: String(call.headers['user-agent'] ?? ''),
  method: call.method,
})

/** An unknown token gets the same picture: it tells nobody whether it guessed right. */
export const open = endpoint({
  summary: 'The picture that tells a message was opened',
  rateLimited: false,
  run: async call => {
    const delivery = readTrackToken(call.platform.secrets, (call.params as TokenPath).token)
    if (delivery) await eventBuffer(call.platform).add(delivery.businessId, { ...hitOf(call, delivery), kind: 'open' })
    return new Raw('image/gif', pixel, { headers: neverKept })
  },
})

/** Leads only where the sender's own message leads: the address is looked up by number, never taken from the request. */
export const click = endpoint({
  summary: 'A tracked link of a message',
  rateLimited: false,
  run: async call => {
    const { token, link } = call.params as TokenPath & { link: string }
    const delivery = readTrackToken(call.platform.secrets, token)
    const number = /^\d{1,5}$/.test(link) ? Number(link) : -1
    const target = delivery && (await targetOf(call, delivery, number))
    if (!delivery || !target) return unknownLink()
    await eventBuffer(call.platform).add(delivery.businessId, { ...hitOf(call, delivery), kind: 'click', link: number })
    const headers = { ...neverKept, location: target, 'referrer-policy': 'no-referrer' }
    return new Raw('text/plain; charset=utf-8', '', { status: 302, headers })
  },
})

const mostLinkTables = 1_000
const linkTables = new Map<string, string[]>()

async function targetOf({ db }: Call, { businessId, deliveryId }: DeliveryName, number: number) {
  const key = `${businessId}:${sendIdOf(deliveryId)}`
  let links = linkTables.get(key)
  if (!links) {
    links = (await store.linksOf(db, businessId, sendIdOf(deliveryId)))?.links ?? undefined
    if (!links) return undefined
    if (linkTables.size >= mostLinkTables) linkTables.delete(linkTables.keys().next().value as string)
    linkTables.set(key, links)
  }
  const template = links[number]
  if (template === undefined || !template.includes('{{')) return template && safeAddress(template)
  const recipient = await store.recipientOf(db, businessId, deliveryId)
  const inAddress = (value: string) => encodeURIComponent(value.toWellFormed())
  return recipient && safeAddress(renderTemplate(template, mergeDataFor(recipient), inAddress))
}

/** As a header wants it: one line of ASCII, and nothing but a web address. */
function safeAddress(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined
}

const inCard = (title: string, rest: Html) =>
  html`<div class="page narrow"><div class="card stack"><h1>${title}</h1>${rest}</div></div>`
const say = (title: string, text: string, more: { status?: number; heading?: string } = {}) =>
  page({ language: 'en', title, ...more, body: inCard(title, html`<p>${text}</p>`) })
const unknownLink = () =>
  say('This link is not known', 'It may have been cut off. Open the link from the message again.', { status: 404 })

async function findRecipient(call: Call) {
  const delivery = readUnsubscribeToken(call.platform.secrets, (call.params as TokenPath).token)
  if (!delivery) return undefined
  const [business, recipient] = await Promise.all([
    businessById(call.db, delivery.businessId),
    store.recipientOf(call.db, delivery.businessId, delivery.deliveryId),
  ])
  return business && recipient && { delivery, business, recipient }
}

/** Shows and changes nothing: programs that look into mail open every link. */
export const showUnsubscribe = endpoint({
  summary: 'The page to unsubscribe',
  run: async call => {
    const found = await findRecipient(call)
    if (!found) return unknownLink()
    const { token } = call.params as TokenPath
    const { business, recipient } = found
    const title = 'Unsubscribe'
    return page({
      language: 'en',
      title,
      heading: business.name,
      body: inCard(
        title,
        html`<p>${recipient.email} will get no more mail from ${business.name}.</p>
<form method="post" action="/e/u/${token}"><button class="button">Unsubscribe</button></form>
<p><a href="/e/p/${token}">Choose what you get instead</a></p>`,
      ),
    })
  },
})

const gone = (email: string, heading: string) =>
  say('You are unsubscribed', `${email} will get no more mail.`, { heading })

/** The button of the page, and the one-click request of a mailbox (RFC 8058): no cookie, no redirect, any form of body. */
export const takeUnsubscribe = endpoint({
  summary: 'Unsubscribe, by the page or by one click in the mailbox',
  accepts: 'bytes',
  rateLimited: false,
  run: async call => {
    const found = await findRecipient(call)
    if (!found) return unknownLink()
    const now = await nowFor(call.db, found.business)
    await unsubscribe(call.db, found.delivery, now, 'Unsubscribed by a link in a message')
    return gone(found.recipient.email, found.business.name)
  },
})

export const showPreferences = endpoint({
  summary: 'The page to choose lists',
  run: async call => {
    const found = await findRecipient(call)
    if (!found) return unknownLink()
    const { token } = call.params as TokenPath
    const { business, recipient } = found
    const own = recipient.subscriberId ? await lists.byNumbers(call.db, business.id, recipient.listNumbers ?? []) : []
    const title = 'Email preferences'
    const box = (list: { id: string; name: string }) =>
      html`<label class="choice"><input type="checkbox" name="list_${list.id}" value="on" checked> ${list.name}</label>`
    return page({
      language: 'en',
      title,
      heading: business.name,
      body: inCard(
        title,
        html`<p>Choose what ${recipient.email} gets from ${business.name}.</p>
<form class="stack" method="post" action="/e/p/${token}">${own.map(box)}
${own.length > 0 && html`<button class="button" name="act" value="save">Save</button>`}
<button class="button secondary" name="act" value="all">Unsubscribe from everything</button></form>`,
      ),
    })
  },
})

export const takePreferences = endpoint({
  summary: 'Choose lists',
  accepts: 'form',
  run: async call => {
    const found = await findRecipient(call)
    if (!found) return unknownLink()
    const form = call.body as Form
    const { business, recipient, delivery } = found
    if (form.act === 'all' || !recipient.subscriberId) {
      const now = await nowFor(call.db, business)
      await unsubscribe(call.db, delivery, now, 'Unsubscribed on the preference page')
      return gone(recipient.email, business.name)
    }
    const person = { subscriberId: recipient.subscriberId, listNumbers: recipient.listNumbers ?? [] }
    await keepLists(call.db, business, person, id => form[`list_${id}`] === 'on')
    return say('Saved', 'Your choice holds from now on.', { heading: business.name })
  },
})
