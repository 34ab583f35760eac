import type { Gateway } from '../../billing/gateways/gateway.ts'
import { gatewayFor } from '../../billing/gateways/registry.ts'
import { findGatewayAccount } from '../../billing/gateways/store.ts'
import { collect } from '../../billing/invoices/invoices.ts'
import { pageOfInvoices } from '../../billing/invoices/store.ts'
import { addMethod, payWith } from '../../billing/payment-methods/payment-methods.ts'
import type { NewMethod } from '../../billing/payment-methods/schema.ts'
import type { Raw } from '../../platform/endpoint.ts'
import { html } from '../../platform/html.ts'
import { Problem } from '../../platform/problem.ts'
import { faultSummary } from '../../platform/site/fields.ts'
import { redirect } from '../../platform/site/page.ts'
import { isTriedOut, noteTry } from '../../platform/site/tries.ts'
import { cardFields } from '../checkout-page.ts'
import { type Faults, readCard } from '../entry.ts'
import { cardLimit } from '../limits.ts'
import type { Visitation } from '../page.ts'
import type { Texts } from '../texts/en.ts'
import { portalForm, portalPage, portalPath } from './layout.ts'
import { approach, isAnswer, type Subject, type SubjectPath, say } from './subject.ts'

/** Another card for a subscription. */

export async function showCard(visitation: Visitation<SubjectPath>): Promise<Raw> {
  const subject = await approach(visitation, { form: false })
  if (isAnswer(subject)) return subject
  const { texts, query } = visitation
  const gateway = await hostedGateway(subject)
  const token = query.session && (await gateway?.givenMethod?.(query.session, referenceOf(subject)))
  return token ? save(subject, { gateway_type: 'stripe', token }, texts) : cardPage(subject, texts, {})
}

/** The gateway that takes cards on a page of its own, where the business has one. */
async function hostedGateway({ session: { context } }: Subject): Promise<Gateway | undefined> {
  const account = await findGatewayAccount(context.db, context.business.id, 'stripe')
  return account && gatewayFor(context, 'stripe')
}

const referenceOf = ({ session, subscription }: Subject) => `${session.customer.id}-${subscription.id}`

export async function takeCard(visitation: Visitation<SubjectPath>): Promise<Raw> {
  const subject = await approach(visitation, { form: true })
  if (isAnswer(subject)) return subject
  const { call, form, texts } = visitation
  const { session } = subject
  const { context, customer } = session
  const gateway = await hostedGateway(subject)
  if (gateway?.askForMethod) {
    const page = context.platform.config.publicUrl + pathOf(subject)
    const { subscription } = subject
    const request = { reference: referenceOf(subject), email: customer.emailId, currency: subscription.currency }
    return redirect(await gateway.askForMethod({ ...request, returnUrl: `${page}?session={session}`, cancelUrl: page }))
  }
  const faults: Faults = {}
  const limit = cardLimit({ session: customer.id, ip: call.ip })
  const card = readCard(form, context.now, faults, texts)
  if (card && (await isTriedOut(call.db, context.business.id, limit))) faults.card_number = texts.faults.tooManyCards
  if (!card || Object.keys(faults).length > 0) return cardPage(subject, texts, faults)
  await noteTry(call.db, context.business.id, limit, call.requestId)
  return save(subject, { gateway_type: 'test', card }, texts)
}

async function save(subject: Subject, given: NewMethod, texts: Texts): Promise<Raw> {
  const { context, customer } = subject.session
  try {
    const method = await addMethod(context, customer, given)
    await payWith(context, subject.subscription.id, method)
    await payWhatIsDue(subject, method.id)
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    const words = error.status === 402 ? texts.faults.declined : texts.faults.cardNumber
    return cardPage(subject, texts, { card_number: words })
  }
  return say(subject.session, 'card')
}

/** Who gives a new card after a failed payment wants it to be tried at once. */
async function payWhatIsDue({ session, subscription }: Subject, methodId: string): Promise<void> {
  if (subscription.status !== 'dunning' && subscription.status !== 'unpaid') return
  const { context } = session
  const { rows } = await pageOfInvoices(
    context.db,
    context.business.id,
    { subscriptionId: subscription.id },
    { page: 1, limit: 100, offset: 0 },
  )
  for (const row of rows.toReversed())
    if ((row.status === 'sent' || row.status === 'overdue') && row.dueMinor > 0n)
      await collect(context, row.id, methodId)
}

const pathOf = ({ session, subscription }: Subject) =>
  portalPath(session.context.business.id, 'subscriptions', subscription.id, 'card')

async function cardPage(subject: Subject, texts: Texts, faults: Faults): Promise<Raw> {
  const { session, subscription } = subject
  const hosted = (await hostedGateway(subject)) !== undefined
  return portalPage(session, texts, {
    title: subscription.paymentMethodId ? texts.portal.changeCard : texts.portal.addCard,
    status: Object.keys(faults).length > 0 ? 422 : 200,
    body: html`${faultSummary(texts.faults.title, faults)}<div class="card">${portalForm(
      session,
      texts,
      pathOf(subject),
      hosted
        ? html`<p>${texts.stripeHint}</p><button class="button" id="f-card_number">${texts.continueToPayment}</button>`
        : html`<div>${cardFields(faults, texts)}</div><button class="button">${texts.portal.saveCard}</button>`,
    )}</div>`,
  })
}
