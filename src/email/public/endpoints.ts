import { type BusinessRow, businessById } from '../../accounts/store.ts'
import { type Call, endpoint, type Form, type Raw } from '../../platform/endpoint.ts'
import { type Html, html } from '../../platform/html.ts'
import { isId } from '../../platform/ids.ts'
import { faultSummary, textField } from '../../platform/site/fields.ts'
import { page } from '../../platform/site/page.ts'
import { isTriedOut, noteTry } from '../../platform/site/tries.ts'
import * as lists from '../lists/store.ts'
import { isEmail } from '../subscribers/email-address.ts'
import { askToConfirm, fulfil, readWish, subscribeLimit } from './subscribe.ts'
import { type PublicTexts, publicTexts } from './texts.ts'

interface Place {
  business: BusinessRow
  list: { id: string; name: string }
}

async function findPlace({ db }: Call, businessId: string, listId: string): Promise<Place | undefined> {
  if (!isId(businessId) || !isId(listId)) return undefined
  const [business, list] = await Promise.all([businessById(db, businessId), lists.find(db, businessId, listId)])
  return business && list && { business, list }
}

const inCard = (title: string, rest: Html) =>
  html`<div class="page narrow"><div class="card stack"><h1>${title}</h1>${rest}</div></div>`

const say = (texts: PublicTexts, words: { title: string; text: string }, place: Place | undefined, status = 200): Raw =>
  page({
    language: texts.language,
    title: words.title,
    heading: place?.business.name,
    narrow: true,
    status,
    body: inCard(words.title, html`<p>${words.text}</p>`),
  })

const missing = (texts: PublicTexts) => say(texts, { title: texts.missing, text: texts.missingText }, undefined, 404)
const over = (texts: PublicTexts) => say(texts, { title: texts.over, text: texts.overText }, undefined, 410)

type FormPath = { business_id: string; list_id: string }

function formPage(texts: PublicTexts, place: Place, form: Form, faults: Record<string, string>): Raw {
  const { business, list } = place
  const field = (name: string, label: string, more: object) =>
    textField({ name, label, value: form[name], error: faults[name], ...more })
  return page({
    language: texts.language,
    title: texts.title(list.name),
    heading: business.name,
    narrow: true,
    status: Object.keys(faults).length > 0 ? 422 : 200,
    body: inCard(
      texts.title(list.name),
      html`<p>${texts.text(business.name)}</p>${faultSummary(texts.faultsTitle, faults)}
<form class="stack" method="post" action="/subscribe/${business.id}/${list.id}" novalidate>
<input type="hidden" name="lang" value="${texts.language}">
<div class="fields">${field('email', texts.email, { type: 'email', autocomplete: 'email', maxlength: 254 })}
${field('firstName', texts.firstName, { autocomplete: 'given-name', optional: texts.optional, width: 'half' })}
${field('lastName', texts.lastName, { autocomplete: 'family-name', optional: texts.optional, width: 'half' })}</div>
<div class="visually-hidden" aria-hidden="true"><label>${texts.leaveEmpty}<input name="website" tabindex="-1" autocomplete="off"></label></div>
<button class="button">${texts.subscribe}</button></form>`,
    ),
  })
}

export const showForm = endpoint({
  summary: 'The form to subscribe to a list',
  run: async call => {
    const { business_id, list_id } = call.params as FormPath
    const texts = publicTexts(call.headers, (call.query as { lang?: string }).lang)
    const place = await findPlace(call, business_id, list_id)
    return place ? formPage(texts, place, call.query as Form, {}) : missing(texts)
  },
})

/**
 * Takes the form also from other sites, where merchants put it: it changes nothing, and what it sends goes only to the
 * address itself. It never tells whether an address is known.
 */
export const takeForm = endpoint({
  summary: 'Ask to be on a list; a mail asks to confirm',
  accepts: 'form',
  run: async call => {
    const { business_id, list_id } = call.params as FormPath
    const form = call.body as Form
    const texts = publicTexts(call.headers, form.lang)
    const place = await findPlace(call, business_id, list_id)
    if (!place) return missing(texts)
    const typed = (name: string) => (form[name] ?? '').trim()
    const [email, firstName, lastName] = [typed('email'), typed('firstName'), typed('lastName')]
    const faults: Record<string, string> = {}
    if (!isEmail(email)) faults.email = texts.emailFault
    if (firstName.length > 100) faults.firstName = texts.tooLong(texts.firstName)
    if (lastName.length > 100) faults.lastName = texts.tooLong(texts.lastName)
    const limit = subscribeLimit({ email, ip: call.ip })
    if (!faults.email && (await isTriedOut(call.db, business_id, limit))) faults.email = texts.tooOften
    if (Object.keys(faults).length > 0) return formPage(texts, place, form, faults)
    // Only a machine fills the field that nobody sees; it is told what people are told.
    if (typed('website') === '') {
      await noteTry(call.db, business_id, limit, call.requestId)
      const wish = { businessId: business_id, listId: list_id, email, firstName, lastName }
      await askToConfirm(call.platform, place.business, { ...wish, listName: place.list.name }, texts)
    }
    return say(texts, { title: texts.sent, text: texts.sentText(email) }, place)
  },
})

type TokenPath = { token: string }

/** Opening the link changes nothing: programs that look into mail open every link. */
export const showConfirm = endpoint({
  summary: 'The page behind the link that confirms',
  run: async call => {
    const { token } = call.params as TokenPath
    const texts = publicTexts(call.headers, (call.query as { lang?: string }).lang)
    const wish = readWish(call.platform, token)
    const place = wish && (await findPlace(call, wish.businessId, wish.listId))
    if (!wish || !place) return over(texts)
    const title = texts.confirmTitle(place.list.name)
    return page({
      language: texts.language,
      title,
      heading: place.business.name,
      narrow: true,
      body: inCard(
        title,
        html`<p>${texts.confirmText(wish.email)}</p><form method="post" action="/subscribe/confirm/${token}"><input type="hidden" name="lang" value="${texts.language}"><button class="button">${texts.confirm}</button></form>`,
      ),
    })
  },
})

export const takeConfirm = endpoint({
  summary: 'Confirm: from now on the person is on the list',
  accepts: 'form',
  run: async call => {
    const { token } = call.params as TokenPath
    const texts = publicTexts(call.headers, (call.body as Form).lang)
    const wish = readWish(call.platform, token)
    const place = wish && (await findPlace(call, wish.businessId, wish.listId))
    if (!wish || !place) return over(texts)
    await fulfil(call.platform, call.db, place.business, wish)
    return say(texts, { title: texts.done, text: texts.doneText(place.list.name) }, place)
  },
})
