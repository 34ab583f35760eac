import { createHash } from 'node:crypto'
import type { CreditNote } from '../../billing/invoices/schema.ts'
import { toMinor } from '../../billing/money.ts'
import { pageOfMultiplans } from '../../billing/multiplans/multiplans.ts'
import { plansByIds } from '../../billing/plans/plans.ts'
import type { PlanRow } from '../../billing/plans/store.ts'
import { changePlan, findAskedChange, previewChange } from '../../billing/subscriptions/change-plan.ts'
import type { SubscriptionRow } from '../../billing/subscriptions/store.ts'
import type { Form, Raw } from '../../platform/endpoint.ts'
import { type Html, html } from '../../platform/html.ts'
import { newId } from '../../platform/ids.ts'
import { Problem } from '../../platform/problem.ts'
import { faultSummary, textField } from '../../platform/site/fields.ts'
import { redirect } from '../../platform/site/page.ts'
import { type Faults, maxQuantity, readQuantity } from '../entry.ts'
import type { Visitation } from '../page.ts'
import { openPaymentOf } from '../payments.ts'
import type { Texts } from '../texts/en.ts'
import { money, priceWords, termWords } from '../words.ts'
import { dayOf, homePage } from './home.ts'
import { notice, portalForm, portalPage, portalPath } from './layout.ts'
import type { Session } from './session.ts'
import { approach, isAnswer, orImpossible, type Subject, type SubjectPath, say } from './subject.ts'

/** Another plan: chosen, looked at with what it costs, then confirmed. What is confirmed is what was seen. */

/** Spec silent: customers may change to plans of the product that are on one of its checkout pages. */
async function plansOnSale({ context }: Session, subscription: SubscriptionRow): Promise<PlanRow[]> {
  const all = { page: 1, limit: 100, offset: 0 }
  const { rows } = await pageOfMultiplans(context.db, context.business.id, subscription.productId, all)
  const plans = new Map(rows.flatMap(row => row.plans).map(plan => [plan.id, plan]))
  return [...plans.values()]
    .filter(plan => plan.planActive && plan.currencyCode === subscription.currency && plan.planType !== 'donation')
    .filter(plan => plan.id !== subscription.planId || plan.planType === 'per_unit')
    .sort((a, b) => Number(a.priceMinor - b.priceMinor))
}

interface Wish {
  plan: PlanRow
  quantity: number
  atEnd: boolean
}

export async function showPlan(visitation: Visitation<SubjectPath>): Promise<Raw> {
  const subject = await approach(visitation, { form: false, changeable: true })
  return isAnswer(subject) ? subject : choosePage(subject, visitation.texts, {}, {})
}

export async function takePlan(visitation: Visitation<SubjectPath>): Promise<Raw> {
  const subject = await approach(visitation, { form: true, changeable: true })
  if (isAnswer(subject)) return subject
  const { form, texts } = visitation
  const { session, subscription } = subject
  const before = await answerOfFirst(subject, form, texts)
  if (before) return before
  const plan = (await plansOnSale(session, subscription)).find(one => one.id === form.plan)
  const faults: Faults = {}
  if (!plan) faults.plan = texts.faults.plan
  const quantity = plan ? readQuantity(form, plan, faults, texts) : 1
  if (!plan || Object.keys(faults).length > 0) return choosePage(subject, texts, form, faults)
  const wish = { plan, quantity, atEnd: form.when === 'end' && subscription.nextBillingAt !== null }
  return orImpossible(session, () =>
    form.step === 'confirm' ? apply(subject, wish, form, texts) : previewPage(subject, wish, texts),
  )
}

const requestOf = ({ session, subscription }: Subject, wish: Wish) =>
  ({
    plan_id: wish.plan.id,
    customer_id: session.customer.id,
    quantity: wish.quantity,
    payment_mode: subscription.paymentMethodId === null ? 'offline' : 'credit_card',
    activated_at_val: wish.atEnd ? 'eot' : 'immediately',
    update_reason: 'Changed by the customer.',
  }) as const

/** The amounts that were seen. Lots get their ids when they are made, so ids are left out. */
export function digestOf(note: CreditNote): string {
  const { credit_applied, ...rest } = note
  const amounts = credit_applied.map(({ id: _, ...applied }) => applied)
  return createHash('sha256')
    .update(JSON.stringify([rest, amounts]))
    .digest('base64url')
}

/** Each preview has a key of its own, by which a second click finds the change made by the first. */
const keyOf = ({ key = newId() }: Form) => `portal:${key.slice(0, 100)}`

/** The form was sent before, by a second click or out of the history: what became of it then. */
async function answerOfFirst(subject: Subject, form: Form, texts: Texts): Promise<Raw | undefined> {
  const { context } = subject.session
  const made =
    form.step === 'confirm' ? await findAskedChange(context, subject.subscription.id, keyOf(form)) : undefined
  if (made === undefined || made.state === 'dropped') return undefined
  if (made.state === 'open') return toBank(subject)
  const [plan] = await plansByIds(context.db, context.business.id, [made.planId])
  return told(subject, { plan: plan!, atEnd: made.state === 'scheduled' }, texts)
}

function told({ session, subscription }: Subject, made: Pick<Wish, 'plan' | 'atEnd'>, texts: Texts): Promise<Raw> {
  const { planName } = made.plan
  const end = made.atEnd && subscription.nextBillingAt
  const words = end
    ? texts.portal.changeScheduled(planName, dayOf(session, end, texts))
    : texts.portal.changed(planName)
  return homePage(session, texts, notice(words))
}

async function apply(subject: Subject, wish: Wish, form: Form, texts: Texts): Promise<Raw> {
  const { session } = subject
  const { context } = session
  const request = requestOf(subject, wish)
  try {
    if (!wish.atEnd) {
      const { creditNote } = await previewChange(context, subject.subscription.id, request)
      if (digestOf(creditNote) !== form.shown)
        return (
          (await answerOfFirst(subject, form, texts)) ??
          previewPage(subject, wish, texts, notice(texts.portal.previewChanged))
        )
    }
    await changePlan(context, subject.subscription.id, request, keyOf(form))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.code === 'authentication_required') return toBank(subject)
    if (error.status === 504 || error.code === 'change_in_progress') return say(session, 'changing')
    if (error.status !== 402) throw error
    return previewPage(subject, wish, texts, notice(texts.portal.declined, 'bad'))
  }
  return told(subject, wish, texts)
}

async function toBank({ session, subscription }: Subject): Promise<Raw> {
  const payment = await openPaymentOf(session.context, subscription.id)
  return payment?.actionUrl ? redirect(payment.actionUrl) : say(session, 'changing')
}

async function choosePage(subject: Subject, texts: Texts, form: Form, faults: Faults): Promise<Raw> {
  const { session, subscription } = subject
  const plans = await plansOnSale(session, subscription)
  const end = subscription.nextBillingAt && dayOf(session, subscription.nextBillingAt, texts)
  const chosen = form.plan ?? plans.find(plan => plan.id !== subscription.planId)?.id
  const body =
    plans.length === 0
      ? html`<p>${texts.portal.noOtherPlans}</p>`
      : html`${faultSummary(texts.faults.title, faults)}<div class="card">${planForm(
          subject,
          texts,
          html`<div class="options" role="radiogroup" aria-label="${texts.portal.newPlan}">${plans.map(
            (plan, i) =>
              html`<label class="option"><input type="radio" name="plan" value="${plan.id}" id="${i === 0 ? 'f-plan' : `f-plan-${i}`}"${plan.id === chosen && html` checked`}><span class="what name">${plan.planName}</span><span class="price">${priceWords(plan, texts)}${termWords({ ...plan, trialPeriod: 0 }, texts).map(words => html`<span class="text">${words}</span>`)}</span></label>`,
          )}</div>
${
  plans.some(plan => plan.planType === 'per_unit') &&
  html`<div class="few">${textField({ name: 'quantity', label: texts.quantity, type: 'number', min: 1, max: maxQuantity, value: form.quantity ?? String(subscription.quantity), error: faults.quantity })}</div>`
}
<div class="options" role="radiogroup" aria-label="${texts.portal.when}"><label class="option"><input type="radio" name="when" value="now" checked><span class="what">${texts.portal.atOnce}</span></label>
${end && html`<label class="option"><input type="radio" name="when" value="end"><span class="what">${texts.portal.atEnd(end)}</span></label>`}</div>
<button class="button">${texts.portal.preview}</button>`,
        )}</div>`
  return portalPage(session, texts, {
    title: texts.portal.changePlan,
    body,
    status: Object.keys(faults).length > 0 ? 422 : 200,
  })
}

const planForm = ({ session, subscription }: Subject, texts: Texts, fields: Html) =>
  portalForm(session, texts, portalPath(session.context.business.id, 'subscriptions', subscription.id, 'plan'), fields)

async function previewPage(subject: Subject, wish: Wish, texts: Texts, message?: Html): Promise<Raw> {
  const { session, subscription } = subject
  const end = subscription.nextBillingAt
  const keep = html`<input type="hidden" name="plan" value="${wish.plan.id}"><input type="hidden" name="quantity" value="${wish.quantity}"><input type="hidden" name="when" value="${wish.atEnd ? 'end' : 'now'}"><input type="hidden" name="step" value="confirm"><input type="hidden" name="key" value="${newId()}">`
  const buttons = html`<div class="actions"><button class="button">${texts.portal.confirmChange}</button><a class="button quiet" href="${portalPath(session.context.business.id)}">${texts.portal.keepPlan}</a></div>`
  if (wish.atEnd && end)
    return portalPage(session, texts, {
      title: texts.portal.previewTitle,
      body: html`${message}<div class="card">${planForm(subject, texts, html`${keep}<p>${texts.portal.atEndText(wish.plan.planName, dayOf(session, end, texts))}</p>${buttons}`)}</div>`,
    })
  const { creditNote } = await previewChange(session.context, subscription.id, requestOf(subject, wish))
  return portalPage(session, texts, {
    title: texts.portal.previewTitle,
    body: html`${message}<div class="card">${planForm(
      subject,
      texts,
      html`${keep}<input type="hidden" name="shown" value="${digestOf(creditNote)}">${noteLines(creditNote, subscription, wish, texts)}${buttons}`,
    )}</div>`,
  })
}

function noteLines(note: CreditNote, subscription: SubscriptionRow, wish: Wish, texts: Texts): Html {
  const { currency } = subscription
  const show = (major: number | string) => money(toMinor(major, currency, 'amount'), currency, texts)
  const used = note.credit_applied.reduce((sum, one) => sum + toMinor(one.amount, currency, 'amount'), 0n)
  const left = toMinor(note.total_credit_amount, currency, 'amount') - used
  const restarts =
    wish.plan.billingPeriod !== subscription.periodUnit || wish.plan.billingPeriodNum !== subscription.periodCount
  return html`<p><strong>${note.current_plan_name} → ${note.new_plan_name}</strong><br><span class="muted">${texts.portal.usedDays(note.used_days, note.used_days + note.remaining_days)}</span></p>
<dl class="lines"><div><dt>${restarts ? texts.portal.newPlanCostWhole : texts.portal.newPlanCost}</dt><dd>${show(note.new_plan_total)}</dd></div>
${Number(note.total_tax) > 0 && html`<div><dt>${texts.portal.taxLine}</dt><dd>${show(note.total_tax)}</dd></div>`}
${note.new_credits > 0 && html`<div><dt>${texts.portal.credit}</dt><dd>${show(note.new_credits)}</dd></div>`}
${used > 0n && html`<div><dt>${texts.portal.creditUsed}</dt><dd>−${money(used, currency, texts)}</dd></div>`}
${left > 0n && html`<div><dt>${texts.portal.creditLeft}</dt><dd>${money(left, currency, texts)}</dd></div>`}
<div class="rule sum"><dt>${texts.portal.toPay}</dt><dd data-total>${show(note.charge_amount)}</dd></div></dl>`
}
