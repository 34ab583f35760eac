import { cancelSubscription } from '../../billing/subscriptions/cancel.ts'
import { removeScheduled } from '../../billing/subscriptions/scheduled.ts'
import type { Raw } from '../../platform/endpoint.ts'
import { html } from '../../platform/html.ts'
import { textField } from '../../platform/site/fields.ts'
import type { Visitation } from '../page.ts'
import { dayOf, homePage } from './home.ts'
import { notice, portalForm, portalPage, portalPath } from './layout.ts'
import { approach, isAnswer, orImpossible, type SubjectPath, say } from './subject.ts'

/** The end of a subscription, now or when its term is over; and a planned change that is not wanted any more. */

export async function showCancel(visitation: Visitation<SubjectPath>): Promise<Raw> {
  const subject = await approach(visitation, { form: false })
  if (isAnswer(subject)) return subject
  const { texts } = visitation
  const { session, subscription } = subject
  const end = subscription.nextBillingAt && dayOf(session, subscription.nextBillingAt, texts)
  return portalPage(session, texts, {
    title: texts.portal.cancelTitle,
    body: html`<div class="card">${portalForm(
      session,
      texts,
      portalPath(session.context.business.id, 'subscriptions', subscription.id, 'cancel'),
      html`<div class="options" role="radiogroup" aria-label="${texts.portal.when}">
${end && html`<label class="option"><input type="radio" name="when" value="end" checked><span class="what">${texts.portal.cancelEnd(end)}</span></label>`}
<label class="option"><input type="radio" name="when" value="now"${!end && html` checked`}><span class="what">${texts.portal.cancelNow}</span></label></div>
${textField({ name: 'reason', label: texts.portal.cancelReason, optional: texts.optional })}
<button class="button danger">${texts.portal.cancelConfirm}</button>`,
    )}</div>`,
  })
}

export async function takeCancel(visitation: Visitation<SubjectPath>): Promise<Raw> {
  const subject = await approach(visitation, { form: true })
  if (isAnswer(subject)) return subject
  const { form, texts } = visitation
  const { session, subscription } = subject
  return orImpossible(session, async () => {
    const atEnd = form.when !== 'now'
    const reason = (form.reason ?? '').trim().slice(0, 2_000)
    const after = await cancelSubscription(session.context, subscription.id, { atEnd, reason })
    if (after.status === 'canceled' || after.nextBillingAt === null) return say(session, 'canceled')
    return homePage(session, texts, notice(texts.portal.canceledEnd(dayOf(session, after.nextBillingAt, texts))))
  })
}

export async function takeWithdraw(visitation: Visitation<SubjectPath>): Promise<Raw> {
  const subject = await approach(visitation, { form: true })
  if (isAnswer(subject)) return subject
  return orImpossible(subject.session, async () => {
    await removeScheduled(subject.session.context, subject.subscription.id)
    return say(subject.session, 'withdrawn')
  })
}
