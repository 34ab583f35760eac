import type { PlanRow } from '../billing/plans/store.ts'
import type { Quote } from '../billing/subscriptions/quote.ts'
import { type Html, html } from '../platform/html.ts'
import type { Texts } from './texts/en.ts'
import { longDate, money, percent } from './words.ts'

/** What the order costs: line by line, with the total that is charged. */
export function summaryLines(quote: Quote, options: { couponCode: string; taxKnown: boolean; texts: Texts }): Html {
  const { texts, couponCode, taxKnown } = options
  const { first, currency } = quote
  const show = (minor: bigint) => money(minor, currency, texts)
  const discount = first.lines.reduce((sum, line) => sum + line.discountMinor, 0n)
  return html`<dl class="lines">
${first.lines.map(
  line =>
    html`<div><dt>${line.kind === 'setup_fee' ? texts.setupFeeLine : line.description}${
      line.quantity > 1 && html` <span class="muted">× ${line.quantity}</span>`
    }</dt><dd>${show(line.amountMinor)}</dd></div>`,
)}
${discount > 0n && html`<div><dt>${texts.discount(couponCode)}</dt><dd>−${show(discount)}</dd></div>`}
${
  first.taxes.length > 0 &&
  html`<div class="rule"><dt>${texts.subtotal}</dt><dd>${show(first.netMinor)}</dd></div>
${first.taxes.map(
  tax => html`<div><dt>${texts.tax(tax.name, percent(tax.ratePpm, texts))}</dt><dd>${show(tax.taxMinor)}</dd></div>`,
)}`
}
<div class="rule sum"><dt>${texts.totalToday}</dt><dd data-total>${show(quote.todayMinor)}</dd></div>
</dl>
${laterWords(quote, texts).map(words => html`<p class="small muted below">${words}</p>`)}
${!taxKnown && html`<p class="small muted below">${texts.taxLater}</p>`}`
}

function laterWords({ first, firstOn, trial, later, currency, plan }: Quote, texts: Texts): string[] {
  const words: string[] = []
  if (trial) words.push(texts.firstCharge(money(first.totalMinor, currency, texts), longDate(firstOn, texts)))
  if (later) {
    const amount = money(later.totalMinor, currency, texts)
    const period = texts.period(plan.billingPeriod, plan.billingPeriodNum)
    const more = timesMore(plan)
    words.push(more === undefined ? texts.thenEach(amount, period) : texts.thenFor(amount, period, more))
  }
  return words
}

const timesMore = (plan: PlanRow) => (plan.billingCycle === 'specific' ? (plan.billingCycleNum ?? 1) - 1 : undefined)

export function payWords(quote: Quote, method: string | undefined, texts: Texts): string {
  if (method === 'stripe' && quote.first.totalMinor > 0n) return texts.continueToPayment
  if (quote.trial) return texts.startTrial
  if (quote.todayMinor === 0n) return texts.subscribe
  return method === 'offline' ? texts.order : texts.pay(money(quote.todayMinor, quote.currency, texts))
}
