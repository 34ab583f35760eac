import { businessById } from '../accounts/store.ts'
import { contextOf } from '../billing/context.ts'
import { confirmTestPayment, findPaymentByRef, refreshPayment } from '../billing/gateways/confirm.ts'
import { findInvoice } from '../billing/invoices/store.ts'
import { returnPath } from '../billing/transactions/attempt.ts'
import { findTransaction } from '../billing/transactions/store.ts'
import type { Raw } from '../platform/endpoint.ts'
import { html } from '../platform/html.ts'
import { isId } from '../platform/ids.ts'
import { fail, notFound } from '../platform/problem.ts'
import { cookie, readCookie } from '../platform/site/cookies.ts'
import { page, redirect } from '../platform/site/page.ts'
import { formToken, isVisitor, newVisitor, readFormToken } from '../platform/site/visit.ts'
import { checkoutAssets } from './checkout-page.ts'
import type { Visitation } from './page.ts'
import { settleOrder } from './payments.ts'
import { receiptPath } from './receipt.ts'
import * as store from './store.ts'
import { money } from './words.ts'

/** The page where a bank asks its customer. This one belongs to the test gateway; real gateways have their own. */

type ConfirmPath = { business_id: string; ref: string }

async function findAsked({ call, params }: Visitation<ConfirmPath>) {
  const business = isId(params.business_id) ? await businessById(call.db, params.business_id) : undefined
  if (!business) throw notFound('Payment')
  const context = await contextOf({ ...call, business }, 'checkout')
  return { context, payment: await findPaymentByRef(context, params.ref) }
}

const cookieName = 'confirm'

export async function showConfirm(visitation: Visitation<ConfirmPath>): Promise<Raw> {
  const { call, params, texts } = visitation
  const { payment, context } = await findAsked(visitation)
  const { business } = context
  if (payment.state !== 'action_required') return redirect(returnPath(context, payment.id))
  const known = readCookie(call.headers, cookieName)
  const visitor = isVisitor(known) ? known : newVisitor()
  const token = formToken(call.platform.secrets, { visitor, purpose: `confirm ${params.ref}`, madeAt: new Date() })
  const amount = money(payment.amountMinor, payment.currency, texts)
  return page({
    language: texts.language,
    title: texts.confirm.title,
    narrow: true,
    assets: checkoutAssets,
    cookie: cookie(cookieName, visitor, {
      path: '/checkout/confirm',
      maxAgeSeconds: 3_600,
      publicUrl: call.platform.config.publicUrl,
    }),
    body: html`<form class="page narrow" method="post" action="/checkout/confirm/${business.id}/${params.ref}" data-once><div class="card stack">
<h1>${texts.confirm.title}</h1><p>${texts.confirm.text(amount, business.name)}</p>
<input type="hidden" name="token" value="${token}"><input type="hidden" name="lang" value="${texts.language}">
<div class="actions"><button class="button" name="answer" value="yes">${texts.confirm.approve}</button>
<button class="button quiet" name="answer" value="no">${texts.confirm.refuse}</button></div></div></form>`,
  })
}

export async function takeConfirm(visitation: Visitation<ConfirmPath>): Promise<Raw> {
  const { call, form, params } = visitation
  const { payment, context } = await findAsked(visitation)
  const made = readFormToken(call.platform.secrets, form.token, {
    visitor: readCookie(call.headers, cookieName),
    purpose: `confirm ${params.ref}`,
  })
  if (!made) return showConfirm(visitation)
  if (payment.state === 'action_required') await confirmTestPayment(context, payment.id, form.answer === 'yes')
  return redirect(returnPath(context, payment.id))
}

/** Back from the bank: the order goes on, with its receipt or with the form as it was filled. */
export async function showReturned({ call, params }: Visitation<{ token: string }>): Promise<Raw> {
  const { secrets } = call.platform
  const [businessId = '', paymentId = ''] = secrets.readToken('payment return', params.token)?.split(' ') ?? []
  const business = businessId ? await businessById(call.db, businessId) : undefined
  if (!business) throw notFound('Payment')
  const context = await contextOf({ ...call, business }, 'checkout')
  const known = (await findTransaction(call.db, business.id, paymentId)) ?? fail(notFound('Payment'))
  const decided = known.state === 'succeeded' || known.state === 'failed' || known.state === 'voided'
  const payment = decided ? known : await refreshPayment(context, known)
  const invoice = await findInvoice(call.db, business.id, payment.invoiceId)
  const order = await store.findOrderOf(call.db, business.id, payment.subscriptionId)
  if (!order || invoice?.kind !== 'purchase') {
    const said = payment.state === 'succeeded' ? 'done' : payment.state === 'failed' ? 'declined' : 'changing'
    return redirect(`/portal/${business.id}?said=${said}`)
  }
  return (await settleOrder(context, order)) === 'refused'
    ? redirect(`/checkout/${order.multiplanId}?refused=1`)
    : redirect(receiptPath(secrets, business.id, payment.subscriptionId))
}
