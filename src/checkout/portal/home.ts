import { localDate } from '../../billing/dates.ts'
import { invoiceNumber } from '../../billing/invoices/show.ts'
import type { InvoiceRow } from '../../billing/invoices/store.ts'
import { findInvoice, pageOfInvoices } from '../../billing/invoices/store.ts'
import { methodsByIds } from '../../billing/payment-methods/store.ts'
import { plansByIds } from '../../billing/plans/plans.ts'
import { productsByIds } from '../../billing/products/products.ts'
import type { SubscriptionRow } from '../../billing/subscriptions/store.ts'
import { pageOfSubscriptions } from '../../billing/subscriptions/store.ts'
import { scheduledOf } from '../../billing/subscriptions/store-changes.ts'
import { planTotal } from '../../billing/subscriptions/terms.ts'
import type { Raw } from '../../platform/endpoint.ts'
import { type Html, html } from '../../platform/html.ts'
import { notFound } from '../../platform/problem.ts'
import type { Visitation } from '../page.ts'
import { cardName } from '../receipt.ts'
import { pdfOf } from '../receipt-page.ts'
import type { Texts } from '../texts/en.ts'
import { longDate, money } from '../words.ts'
import { notice, portalForm, portalPage, portalPath } from './layout.ts'
import { findSession, getBusiness, type Session } from './session.ts'
import { signInPage } from './sign-in.ts'

/** What a customer has, at a glance. */

type PortalPath = { business_id: string }

/** Statuses in which a plan can be changed, and those in which a subscription still can be ended. */
export const changeable = new Set(['live', 'non_renewing', 'dunning', 'trial'])
export const over = new Set(['canceled', 'expired', 'pending'])

export const dayOf = ({ context }: Session, at: Date, texts: Texts) =>
  longDate(localDate(at, context.business.timeZone), texts)

export async function showHome({ call, params, query, texts }: Visitation<PortalPath>): Promise<Raw> {
  const business = await getBusiness(call, params.business_id)
  const session = await findSession(call, business)
  if (!session) return signInPage(business, texts)
  return homePage(session, texts, said(query.said, texts))
}

/** What was just done; the address names it, we choose the words. */
function said(what: string | undefined, { portal }: Texts): Html | undefined {
  const words: Record<string, string> = {
    card: portal.cardSaved,
    canceled: portal.canceledNow,
    withdrawn: portal.withdrawn,
    changing: portal.changePending,
    impossible: portal.notPossible,
    done: portal.done,
    declined: portal.declined,
  }
  const text = words[what ?? '']
  return text === undefined ? undefined : notice(text, what === 'impossible' || what === 'declined' ? 'bad' : 'good')
}

export async function homePage(session: Session, texts: Texts, message: Html | undefined): Promise<Raw> {
  const { context, customer } = session
  const { db, business } = context
  const all = { page: 1, limit: 100, offset: 0 }
  const [subscriptions, invoices] = await Promise.all([
    pageOfSubscriptions(db, business.id, { customerId: customer.id }, all),
    pageOfInvoices(db, business.id, { customerId: customer.id }, all),
  ])
  const shown = subscriptions.rows.filter(row => row.status !== 'pending' && !isAbandoned(row))
  const cards = await subscriptionCards(session, shown, texts)
  const issued = invoices.rows.filter(row => row.number !== null)
  return portalPage(session, texts, {
    title: texts.portal.title,
    back: false,
    body: html`${message}
<section class="stack" aria-labelledby="subscriptions-title"><h2 id="subscriptions-title">${texts.portal.subscriptions}</h2>
${cards.length > 0 ? cards : html`<p class="muted">${texts.portal.noSubscriptions}</p>`}</section>
<section class="card" aria-labelledby="invoices-title"><h2 id="invoices-title">${texts.portal.invoices}</h2>
${issued.length > 0 ? invoiceTable(session, issued, texts) : html`<p class="muted">${texts.portal.noInvoices}</p>`}</section>
<div class="between small muted"><span>${texts.portal.signedInAs(customer.emailId)}</span>${portalForm(
      session,
      texts,
      portalPath(business.id, 'leave'),
      html`<button class="button quiet">${texts.portal.signOut}</button>`,
    )}</div>`,
  })
}

/** Refused at the counter: nothing the customer ever had. */
const isAbandoned = (row: SubscriptionRow) => row.status === 'canceled' && row.periodNo === 0 && row.trialStart === null

async function subscriptionCards(session: Session, rows: readonly SubscriptionRow[], texts: Texts): Promise<Html[]> {
  const { db, business } = session.context
  const ids = (of: (row: SubscriptionRow) => string | null) => [...new Set(rows.map(of))].filter(id => id !== null)
  const [plans, products, methods, scheduled] = await Promise.all([
    plansByIds(
      db,
      business.id,
      ids(row => row.planId),
    ),
    productsByIds(
      db,
      business.id,
      ids(row => row.productId),
    ),
    methodsByIds(
      db,
      business.id,
      ids(row => row.paymentMethodId),
    ),
    scheduledOf(
      db,
      business.id,
      rows.map(row => row.id),
    ),
  ])
  const nextPlans = await plansByIds(
    db,
    business.id,
    scheduled.map(change => change.planId),
  )
  return rows.map(row => {
    const plan = plans.find(one => one.id === row.planId)
    const product = products.find(one => one.id === row.productId)
    const method = methods.find(one => one.id === row.paymentMethodId)
    const change = scheduled.find(one => one.subscriptionId === row.id)
    const next = nextPlans.find(one => one.id === change?.planId)
    const price = money(planTotal(row), row.currency, texts)
    const words = row.cyclesLeft === 0 ? price : texts.perPeriod(price, row.periodUnit, row.periodCount)
    const path = (...parts: string[]) => portalPath(business.id, 'subscriptions', row.id, ...parts)
    return html`<article class="card stack"><div class="between"><h3>${product?.productName} · ${plan?.planName}${row.quantity > 1 && ` × ${row.quantity}`}</h3><span class="badge calm">${texts.portal.status[row.status] ?? row.status}</span></div>
<p>${words}${timing(session, row, texts).map(text => html`<br>${text}`)}<br><span class="muted">${method ? texts.portal.cardNow(cardName(method, texts)) : texts.portal.noCard}</span></p>
${
  next &&
  html`<div class="notice between"><span>${texts.portal.scheduled(next.planName)}</span>${portalForm(session, texts, path('withdraw'), html`<button class="button quiet">${texts.portal.withdraw}</button>`)}</div>`
}
${
  !over.has(row.status) &&
  html`<div class="actions">${changeable.has(row.status) && html`<a class="button quiet" href="${path('plan')}">${texts.portal.changePlan}</a>`}
<a class="button quiet" href="${path('card')}">${method ? texts.portal.changeCard : texts.portal.addCard}</a>
${!row.cancelAtEnd && html`<a class="button danger" href="${path('cancel')}">${texts.portal.cancel}</a>`}</div>`
}</article>`
  })
}

function timing(session: Session, row: SubscriptionRow, texts: Texts): string[] {
  if (over.has(row.status) || row.nextBillingAt === null) return []
  const day = dayOf(session, row.nextBillingAt, texts)
  return [row.cancelAtEnd || row.cyclesLeft === 0 ? texts.portal.ends(day) : texts.portal.next(day)]
}

const invoiceTable = (session: Session, rows: readonly InvoiceRow[], texts: Texts) => html`<table class="table">
<thead><tr><th scope="col">${texts.portal.number}</th><th scope="col">${texts.portal.date}</th><th scope="col">${texts.receipt.status}</th><th scope="col" class="num">${texts.portal.amount}</th><th scope="col">${texts.portal.pdf}</th></tr></thead>
<tbody>${rows.map(
  row =>
    html`<tr><th scope="row">${invoiceNumber(row)}</th><td>${dayOf(session, row.issuedAt ?? row.createdAt, texts)}</td><td>${texts.portal.invoiceStatus[row.status] ?? row.status}</td><td class="num">${money(row.totalMinor, row.currency, texts)}</td><td><a href="${portalPath(session.context.business.id, 'invoices', row.id, 'pdf')}" aria-label="${texts.portal.pdfOf(invoiceNumber(row))}">${texts.portal.pdf}</a></td></tr>`,
)}</tbody></table>`

export async function showInvoicePdf({ call, params }: Visitation<PortalPath & { invoice_id: string }>): Promise<Raw> {
  const business = await getBusiness(call, params.business_id)
  const session = await findSession(call, business)
  const invoice = session && (await findInvoice(call.db, business.id, params.invoice_id))
  if (!session || invoice?.customerId !== session.customer.id || invoice.number === null) throw notFound('Invoice')
  return pdfOf(call, business, invoice)
}
