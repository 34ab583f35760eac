import { collect } from '../../billing/invoices/invoices.ts'
import { pageOfInvoices } from '../../billing/invoices/store.ts'
import { addMethod, payWith } from '../../billing/payment-methods/payment-methods.ts'
import type { Raw } from '../../platform/endpoint.ts'
import { html } from '../../platform/html.ts'
import { Problem } from '../../platform/problem.ts'
import { faultSummary } from '../../platform/site/fields.ts'
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
  return isAnswer(subject) ? subject : cardPage(subject, visitation.texts, {})
}

export async function takeCard(visitation: Visitation<SubjectPath>): Promise<Raw> {
  const subject = await approach(visitation, { form: true })
  if (isAnswer(subject)) return subject
  const { call, form, texts } = visitation
  const { session, subscription } = subject
  const { context, customer } = session
  const faults: Faults = {}
  const limit = cardLimit({ session: customer.id, ip: call.ip })
  const card = readCard(form, context.now, faults, texts)
  if (card && (await isTriedOut(call.db, context.business.id, limit))) faults.card_number = texts.faults.tooManyCards
  if (!card || Object.keys(faults).length > 0) return cardPage(subject, texts, faults)
  await noteTry(call.db, context.business.id, limit, call.requestId)
  try {
    const method = await addMethod(context, customer, { gateway_type: 'test', card })
    await payWith(context, subscription.id, method)
    await payWhatIsDue(subject, method.id)
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    return cardPage(subject, texts, {
      card_number: error.status === 402 ? texts.faults.declined : texts.faults.cardNumber,
    })
  }
  return say(session, 'card')
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

function cardPage({ session, subscription }: Subject, texts: Texts, faults: Faults): Raw {
  const action = portalPath(session.context.business.id, 'subscriptions', subscription.id, 'card')
  const title = subscription.paymentMethodId ? texts.portal.changeCard : texts.portal.addCard
  return portalPage(session, texts, {
    title,
    status: Object.keys(faults).length > 0 ? 422 : 200,
    body: html`${faultSummary(texts.faults.title, faults)}<div class="card">${portalForm(
      session,
      texts,
      action,
      html`<div>${cardFields(faults, texts)}</div><button class="button">${texts.portal.saveCard}</button>`,
    )}</div>`,
  })
}
