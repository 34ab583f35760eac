import { type Context, contextOf } from '../billing/context.ts'
import { gatewayFor } from '../billing/gateways/registry.ts'
import type { Call, Form, Raw } from '../platform/endpoint.ts'
import { type Html, html } from '../platform/html.ts'
import { Problem } from '../platform/problem.ts'
import { page, redirect } from '../platform/site/page.ts'
import { isTriedOut } from '../platform/site/tries.ts'
import { checkoutAssets, checkoutBody } from './checkout-page.ts'
import { type Choice, readChoice } from './choice.ts'
import { type Faults, type Method, readCard, readMethod, readPerson } from './entry.ts'
import { cardLimit } from './limits.ts'
import { offeredMethods } from './methods.ts'
import { findOffer, type Offer } from './offer.ts'
import type { Visitation } from './page.ts'
import { openPaymentOf } from './payments.ts'
import { placeOrder, type Standing } from './place-order.ts'
import { receiptPath } from './receipt.ts'
import * as store from './store.ts'
import type { Texts } from './texts/en.ts'
import { unhappyPage } from './unhappy.ts'
import { judgeForm, nextVisit, orderToken, readVisit, type Visit, visitCookie } from './visit.ts'
import { money } from './words.ts'

/** The checkout page: shown, looked at again as choices change, and sent. */

type MultiplanPath = { multiplan_id: string }

interface Counter {
  call: Call
  context: Context
  offer: Offer
  texts: Texts
  visit: Visit
  methods: Method[]
}

/** Leads to the counter, or says kindly why there is none. */
async function approach(visitation: Visitation<MultiplanPath>): Promise<Counter | Raw> {
  const { call, texts, params } = visitation
  const offer = await findOffer(call.db, params.multiplan_id)
  if (offer === undefined) return unhappyPage(texts.unhappy.missing, { status: 404, texts })
  if (offer === 'gone') return unhappyPage(texts.unhappy.gone, { status: 410, texts })
  const { business } = offer
  if (offer.plans.length === 0)
    return unhappyPage(texts.unhappy.nothing, { status: 200, texts, heading: business.name })
  const [context, methods] = await Promise.all([
    contextOf({ ...call, business }, 'checkout'),
    offeredMethods(call.db, business),
  ])
  return { call, context, offer, texts, methods, visit: readVisit(call, offer.multiplan.id) ?? nextVisit(undefined) }
}

const isAnswer = (found: Counter | Raw): found is Raw => 'contentType' in found

export async function showCheckout(visitation: Visitation<MultiplanPath>): Promise<Raw> {
  const counter = await approach(visitation)
  if (isAnswer(counter)) return counter
  const { context, texts, visit } = counter
  const order = await store.findOrder(context.db, context.business.id, visit.order)
  if (order?.state === 'placed' && order.subscriptionId !== null) {
    const notice = placedBefore(counter, order.subscriptionId)
    return render({ ...counter, visit: nextVisit(visit) }, { form: visitation.query, faults: {}, notice })
  }
  const free = order?.state === 'open' || (order?.state === 'placing' && !order.held)
  if (order && !free) return continueOrder(counter, await stateOf(counter, order))
  const faults: Faults = visitation.query.refused ? { card_number: texts.faults.authenticationFailed } : {}
  return render(counter, { form: { ...visitation.query, ...order?.entry }, faults, notice: undefined })
}

export async function takeCheckout(visitation: Visitation<MultiplanPath>): Promise<Raw> {
  const counter = await approach(visitation)
  if (isAnswer(counter)) return counter
  const { call, texts, offer, visit } = counter
  const { card_number, card_expiry, card_cvc, action, token, order, shown, ...entry } = visitation.form
  const multiplanId = offer.multiplan.id
  const verdict = judgeForm(call, multiplanId, { visitor: visit.visitor, order: order ?? '', token })
  if (action !== 'buy') return render(counter, { form: entry, faults: {}, notice: undefined })
  if (verdict !== 'good') {
    const words = verdict === 'old' ? texts.faults.sessionOver : texts.faults.notOurs
    return render(counter, { form: entry, faults: {}, notice: warning(words), status: verdict === 'old' ? 200 : 403 })
  }
  return buy({ ...counter, visit: { ...visit, order: order ?? '' } }, visitation.form, entry)
}

/** Everything is looked at again here; what the browser says is only what a person wishes. */
async function buy(counter: Counter, form: Form, entry: Form, token?: string): Promise<Raw> {
  const { context, offer, texts, visit, methods } = counter
  const choice = await choose(counter, entry)
  if (!choice) return unhappyPage(texts.unhappy.nothing, { status: 200, texts, heading: offer.business.name })
  const faults: Faults = { ...choice.faults }
  const person = readPerson(form, faults, texts)
  const method = readMethod(form, methods, faults, texts)
  const free = choice.quote.first.totalMinor === 0n && (choice.quote.later?.totalMinor ?? 0n) === 0n
  const card = method === 'card' && !free ? readCard(form, context.now, faults, texts) : undefined
  if (card && (await isTriedOut(context.db, context.business.id, cardLimit(session(counter)))))
    faults.card_number = texts.faults.tooManyCards
  if (Object.keys(faults).length > 0 || !method)
    return render(counter, { form: entry, faults, notice: undefined, choice, status: 422 })
  if (form.shown !== shownOf(choice)) {
    const total = money(choice.quote.todayMinor, choice.quote.currency, texts)
    const words = method === 'card' ? texts.faults.totalChanged(total) : texts.faults.totalChangedNoCard(total)
    return render(counter, { form: entry, faults: {}, notice: warning(words), choice })
  }
  if (method === 'stripe' && !free && token === undefined)
    return askForCard(counter, { ...entry, shown: shownOf(choice) }, person.email, choice)
  const placed = await placeOrder(context, {
    id: visit.order,
    offer,
    choice,
    person,
    // Nothing will ever be charged, so no card is asked for.
    method: free ? 'offline' : method,
    card,
    token,
    entry,
    ...session(counter),
    texts,
  })
  return placed.kind === 'refused'
    ? render(counter, { form: entry, faults: besideMethod(placed.faults, method), notice: undefined, status: 422 })
    : continueOrder(counter, placed)
}

/** Where the card is given on another page, a fault of it stands beside the choice of how to pay. */
const besideMethod = ({ card_number, ...faults }: Faults, method: Method): Faults =>
  card_number === undefined ? faults : { ...faults, [method === 'stripe' ? 'method' : 'card_number']: card_number }

/** The gateway's own page asks for the card; what was typed waits here meanwhile. */
async function askForCard(counter: Counter, entry: Form, email: string, choice: Choice): Promise<Raw> {
  const { context, offer, visit, texts } = counter
  const { db, business, platform } = context
  const { id } = offer.multiplan
  const page = `${platform.config.publicUrl}/checkout/${id}`
  const kept = await store.keepEntry(db, business.id, {
    id: visit.order,
    multiplanId: id,
    entry,
    language: texts.language,
  })
  if (!kept) {
    const order = await store.findOrder(db, business.id, visit.order)
    return continueOrder(counter, order ? await stateOf(counter, order) : { kind: 'busy' })
  }
  try {
    const gateway = await gatewayFor(context, 'stripe')
    const url = await gateway.askForMethod?.({
      reference: visit.order,
      email,
      currency: choice.quote.currency,
      returnUrl: `${page}/collected?session={session}`,
      cancelUrl: page,
    })
    if (url) return redirect(url)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
  }
  return render(counter, { form: entry, faults: { method: texts.faults.gatewayAway }, notice: undefined, status: 502 })
}

/** Back from the gateway's page, with a card or without one. */
export async function showCollected(visitation: Visitation<MultiplanPath>): Promise<Raw> {
  const counter = await approach(visitation)
  if (isAnswer(counter)) return counter
  const { context, visit } = counter
  const order = await store.findOrder(context.db, context.business.id, visit.order)
  const gateway = counter.methods.includes('stripe') ? await gatewayFor(context, 'stripe') : undefined
  const token = order?.entry && (await gateway?.givenMethod?.(visitation.query.session ?? '', visit.order))
  if (!order?.entry || !token || order.state !== 'open') return redirect(`/checkout/${counter.offer.multiplan.id}`)
  return buy(counter, order.entry, order.entry, token)
}

const session = ({ visit, call, texts }: Counter) => ({ session: visit.visitor, ip: call.ip, texts })

const choose = (counter: Counter, form: Form): Promise<Choice | undefined> =>
  readChoice(counter.context, counter.offer, form, session(counter))

/** What the customer saw: today's total and that of the first invoice. */
export const shownOf = ({ quote }: Choice) => `${quote.todayMinor} ${quote.first.totalMinor}`

async function stateOf({ context }: Counter, order: store.OrderRow): Promise<Standing> {
  if (order.subscriptionId === null) return { kind: 'busy' }
  const url = (await openPaymentOf(context, order.subscriptionId))?.actionUrl
  return url ? { kind: 'confirm', url } : { kind: 'placed', subscriptionId: order.subscriptionId }
}

function continueOrder({ call, context, offer, texts }: Counter, placed: Standing): Raw {
  if (placed.kind === 'placed')
    return redirect(receiptPath(call.platform.secrets, context.business.id, placed.subscriptionId))
  if (placed.kind === 'confirm') return redirect(placed.url)
  const again = `/checkout/${offer.multiplan.id}`
  return page({
    language: texts.language,
    title: texts.waiting.title,
    heading: offer.business.name,
    narrow: true,
    assets: checkoutAssets,
    status: 200,
    headers: { refresh: `3; url=${again}` },
    body: html`<div class="page narrow"><div class="card stack"><h1>${texts.waiting.title}</h1><p>${texts.waiting.text}</p>
<p><a class="button quiet" href="${again}">${texts.waiting.look}</a></p></div></div>`,
  })
}

const warning = (words: string) => html`<div class="notice" role="alert">${words}</div>`

function placedBefore({ call, context, texts }: Counter, subscriptionId: string): Html {
  const url = receiptPath(call.platform.secrets, context.business.id, subscriptionId)
  return html`<div class="notice"><p>${texts.receipt.already} <a href="${url}">${texts.receipt.seeReceipt}</a></p><p class="small">${texts.receipt.buyAgain}</p></div>`
}

async function render(
  counter: Counter,
  view: { form: Form; faults: Faults; notice: Html | undefined; choice?: Choice; status?: number },
): Promise<Raw> {
  const { call, context, offer, texts, visit, methods } = counter
  const { multiplan, business } = offer
  const choice = view.choice ?? (await choose(counter, view.form))
  if (!choice) return unhappyPage(texts.unhappy.nothing, { status: 200, texts, heading: business.name })
  const { quote, coupon } = choice
  const savedMinor = quote.first.lines.reduce((sum, line) => sum + line.discountMinor, 0n)
  const body = checkoutBody({
    offer,
    form: view.form,
    plan: choice.plan,
    addonsOnSale: choice.addonsOnSale,
    quote,
    shown: shownOf(choice),
    coupon: coupon && { code: coupon.couponCode, savedMinor },
    methods,
    faults: { ...choice.faults, ...view.faults },
    notice: view.notice,
    hidden: { order: visit.order, token: orderToken(call, multiplan.id, visit) },
    texts,
  })
  return page({
    language: texts.language,
    title: `${multiplan.pageTitle} · ${business.name}`,
    heading: business.name,
    assets: checkoutAssets,
    status: view.status ?? 200,
    cookie: visitCookie(call, multiplan.id, visit),
    body,
    formTargets: [
      context.platform.config.publicUrl,
      ...(methods.includes('stripe') ? ['https://checkout.stripe.com', 'https://hooks.stripe.com'] : []),
    ],
  })
}
