import { join } from 'node:path'
import type { AddonRow } from '../billing/addons/store.ts'
import { majorText } from '../billing/money.ts'
import type { PlanRow } from '../billing/plans/store.ts'
import type { Quote } from '../billing/subscriptions/quote.ts'
import type { Form } from '../platform/endpoint.ts'
import { type Html, html } from '../platform/html.ts'
import { readAsset } from '../platform/site/assets.ts'
import { faultSummary, fieldId, selectField, textField } from '../platform/site/fields.ts'
import { addonField, addonQuantityField, type Faults, type Method, maxQuantity } from './entry.ts'
import type { Offer } from './offer.ts'
import { countryOptions } from './places.ts'
import { payWords, summaryLines } from './summary.ts'
import type { Texts } from './texts/en.ts'
import { money, plainWords, priceWords, termWords } from './words.ts'

/** The page that sells. Parts marked `data-part` are exchanged by the script when a choice changes. */

const asset = (name: string) => readAsset(join(import.meta.dirname, 'assets', name), '/checkout/assets')
export const checkoutStyle = asset('checkout.css')
export const checkoutScript = asset('checkout.js')
export const checkoutAssets = [checkoutStyle, checkoutScript]

export interface CheckoutView {
  offer: Offer
  /** what was typed so far; cards are never in it */
  form: Form
  plan: PlanRow
  addonsOnSale: readonly AddonRow[]
  quote: Quote
  /** the totals as the form sends them back, so that nobody is charged what they did not see */
  shown: string
  coupon: { code: string; savedMinor: bigint } | undefined
  methods: readonly Method[]
  faults: Faults
  /** said above the form: an expired session, an order that was placed before */
  notice: Html | undefined
  hidden: { order: string; token: string }
  texts: Texts
}

export function checkoutBody(view: CheckoutView): Html {
  const { offer, texts, hidden, faults, notice } = view
  const description = plainWords(offer.product.description ?? '')
  return html`<form class="page checkout" method="post" action="/checkout/${offer.multiplan.id}" novalidate data-checkout>
<button hidden name="action" value="buy"></button>
<input type="hidden" name="order" value="${hidden.order}">
<input type="hidden" name="token" value="${hidden.token}">
<input type="hidden" name="lang" value="${texts.language}">
<div class="stack">
<div><h1>${offer.multiplan.pageTitle}</h1>${description && html`<p class="lead">${description}</p>`}</div>
${notice}
${faultSummary(texts.faults.title, faults)}
${planSection(view)}
<div data-part="choice" class="stack">${choiceSection(view)}</div>
${contactSection(view)}
${addressSection(view)}
${paymentSection(view)}
</div>
<aside class="card summary" aria-labelledby="summary-title">
<h2 id="summary-title">${texts.summary}</h2>
<div data-part="lines" aria-live="polite">${summaryLines(view.quote, {
    couponCode: view.coupon?.code ?? '',
    taxKnown: (view.form.country ?? '') !== '',
    texts,
  })}</div>
${couponSection(view)}
<div class="nojs-only below"><button class="button quiet" name="action" value="update">${texts.update}</button></div>
<div class="paybar" data-part="pay">${payBar(view)}</div>
<p class="small muted below">${texts.terms(offer.business.name)}</p>
</aside>
</form>`
}

function payBar({ quote, shown, form, methods, texts }: CheckoutView): Html {
  return html`<input type="hidden" name="shown" value="${shown}">
<span class="due"><span class="small muted">${texts.totalToday}</span><strong>${money(quote.todayMinor, quote.currency, texts)}</strong></span>
<button class="button" name="action" value="buy" data-working="${texts.working}">${payWords(quote, form.method ?? methods[0], texts)}</button>`
}

function planSection({ offer, plan, texts, faults }: CheckoutView): Html {
  const { plans, multiplan } = offer
  const fault = faults.plan && html`<span class="error" id="f-plan-error">${faults.plan}</span>`
  if (multiplan.multiplanList === 'select' && plans.length > 1)
    return html`<section class="card"><h2>${texts.choosePlan}</h2>${selectField({
      name: 'plan',
      label: texts.plan,
      value: plan.id,
      error: faults.plan,
      live: true,
      choices: plans.map(one => ({
        value: one.id,
        label: [one.planName, priceWords(one, texts), ...termWords(one, texts)].join(' · '),
      })),
    })}<div data-part="plan">${planText(plan)}</div></section>`
  return html`<section class="card" role="radiogroup" aria-labelledby="plans-title">
<h2 id="plans-title">${plans.length > 1 ? texts.choosePlan : texts.yourPlan}</h2>
<div class="options" data-live>${plans.map((one, i) => planOption(one, i))}</div>${fault}</section>`

  function planOption(one: PlanRow, i: number): Html {
    const description = plainWords(one.planDescription)
    const terms = termWords(one, texts)
    return html`<label class="option"><input type="radio" name="plan" value="${one.id}" id="${i === 0 ? 'f-plan' : `f-plan-${i}`}"${
      one.id === plan.id && html` checked`
    }>
<span class="what"><span class="name">${one.planName}</span>${
      one.id === multiplan.preferredPlanId && plans.length > 1 && html`<span class="badge">${texts.recommended}</span>`
    }${description && html`<span class="text">${description}</span>`}</span>
<span class="price">${priceWords(one, texts)}${terms.map(term => html`<span class="text">${term}</span>`)}</span></label>`
  }
}

const planText = (plan: PlanRow) => {
  const description = plainWords(plan.planDescription)
  return description && html`<p class="lead small">${description}</p>`
}

/** What goes with the chosen plan: how many, how much, and with what. */
function choiceSection({ plan, form, faults, texts, addonsOnSale }: CheckoutView): Html {
  const own =
    plan.planType === 'per_unit'
      ? textField({
          name: 'quantity',
          label: texts.quantity,
          type: 'number',
          inputmode: 'numeric',
          min: 1,
          max: maxQuantity,
          value: form.quantity ?? '1',
          error: faults.quantity,
          live: true,
        })
      : plan.planType === 'donation' &&
        textField({
          name: 'amount',
          label: texts.amount(plan.currencyCode),
          inputmode: 'decimal',
          value: form.amount ?? majorText(plan.priceMinor, plan.currencyCode),
          error: faults.amount,
          live: true,
        })
  return html`${own && html`<section class="card"><div class="few">${own}</div></section>`}
${
  addonsOnSale.length > 0 &&
  html`<section class="card" aria-labelledby="addons-title"><h2 id="addons-title">${texts.addons}</h2>${byCategory(
    addonsOnSale,
  ).map(
    ([
      category,
      addons,
    ]) => html`<div class="group" role="group" aria-label="${category ? texts.addonsOf(category) : texts.addons}">
${category && html`<h3 class="category">${category}</h3>`}
<div class="options">${addons.map(addon => addonOption(addon, form, faults, texts))}</div></div>`,
  )}</section>`
}`
}

/** An add-on of several categories is shown once, under the first: bought twice it would be charged twice. */
function byCategory(addons: readonly AddonRow[]): [string, AddonRow[]][] {
  const groups = new Map<string, AddonRow[]>()
  for (const addon of addons) {
    const category = addon.categoryArray[0] ?? ''
    groups.set(category, [...(groups.get(category) ?? []), addon])
  }
  return [...groups].sort(([a], [b]) => Number(b === '') - Number(a === ''))
}

function addonOption(addon: AddonRow, form: Form, faults: Faults, texts: Texts): Html {
  const price = money(addon.priceMinor, addon.currencyCode, texts)
  const words =
    addon.billingCycle === 'onetime'
      ? texts.once(price)
      : texts.perPeriod(price, addon.billingPeriod, addon.billingPeriodNum)
  const quantity = addonQuantityField(addon.id)
  const fault = faults[quantity]
  return html`<div><div class="addon"><label class="option"><input type="checkbox" name="${addonField(addon.id)}" value="1" data-live id="${fieldId(addonField(addon.id))}"${
    form[addonField(addon.id)] !== undefined && html` checked`
  }><span class="what name">${addon.name}</span><span class="price">${words}</span></label>
<input type="number" inputmode="numeric" min="1" max="10000" name="${quantity}" id="${fieldId(quantity)}" value="${form[quantity] ?? '1'}" aria-label="${texts.addonQuantity(addon.name)}" data-live${
    fault && html` aria-invalid="true" aria-describedby="${fieldId(quantity)}-error"`
  }></div>${fault && html`<span class="error" id="${fieldId(quantity)}-error">${fault}</span>`}</div>`
}

function contactSection({ form, faults, texts }: CheckoutView): Html {
  const field = (name: string, label: string, more: object) =>
    textField({ name, label, value: form[name], error: faults[name], ...more })
  return html`<section class="card" role="group" aria-labelledby="contact-title"><h2 id="contact-title">${texts.contact}</h2><div class="fields">
${field('email', texts.email, { type: 'email', autocomplete: 'email', inputmode: 'email', maxlength: 254, hint: texts.emailHint })}
${field('first_name', texts.firstName, { autocomplete: 'given-name', width: 'half' })}
${field('last_name', texts.lastName, { autocomplete: 'family-name', width: 'half' })}
${field('company', texts.company, { autocomplete: 'organization', width: 'half', optional: texts.optional })}
${field('tax_id', texts.taxId, { width: 'half', optional: texts.optional, maxlength: 60 })}
</div></section>`
}

function addressSection({ form, faults, texts }: CheckoutView): Html {
  const field = (name: string, label: string, more: object) =>
    textField({ name, label, value: form[name], error: faults[name], ...more })
  return html`<section class="card" role="group" aria-labelledby="address-title"><h2 id="address-title">${texts.address}</h2><div class="fields">
${selectField({
  name: 'country',
  label: texts.country,
  value: form.country ?? '',
  error: faults.country,
  autocomplete: 'country',
  live: true,
  choices: [{ value: '', label: texts.countryChoose }],
  more: countryOptions(texts, form.country ?? ''),
})}
${field('street', texts.street, { autocomplete: 'address-line1' })}
${field('zip', texts.zip, { autocomplete: 'postal-code', width: 'half', optional: texts.optional, maxlength: 20 })}
${field('city', texts.city, { autocomplete: 'address-level2', width: 'half' })}
${field('state', texts.state, { autocomplete: 'address-level1', optional: texts.optional, live: true })}
</div></section>`
}

function paymentSection({ form, faults, texts, methods }: CheckoutView): Html {
  const words = {
    card: [texts.payByCard, undefined],
    stripe: [texts.payByStripe, texts.stripeHint],
    offline: [texts.payOffline, texts.offlineHint],
  } as const
  const chosen = methods.find(method => method === form.method) ?? methods[0]
  return html`<section class="card" role="group" aria-labelledby="payment-title"><h2 id="payment-title">${texts.payment}</h2>
<div class="options" role="radiogroup" aria-labelledby="payment-title" data-live>${methods.map(
    (method, i) =>
      html`<label class="option"><input type="radio" name="method" value="${method}" id="${i === 0 ? 'f-method' : `f-method-${i}`}"${
        method === chosen && html` checked`
      }><span class="what"><span class="name">${words[method][0]}</span>${
        words[method][1] && html`<span class="text">${words[method][1]}</span>`
      }</span></label>`,
  )}</div>${faults.method && html`<span class="error" id="f-method-error">${faults.method}</span>`}
${methods.includes('card') && html`<div class="cardbox">${cardFields(faults, texts)}</div>`}</section>`
}

export const cardFields = (faults: Faults, texts: Texts): Html => html`<p class="notice small">${texts.testCard}</p>
<div class="fields gap">
${textField({
  name: 'card_number',
  label: texts.cardNumber,
  autocomplete: 'cc-number',
  inputmode: 'numeric',
  maxlength: 30,
  error: faults.card_number,
})}
${textField({
  name: 'card_expiry',
  label: texts.cardExpiry,
  autocomplete: 'cc-exp',
  inputmode: 'numeric',
  maxlength: 10,
  placeholder: texts.cardExpiryHint,
  width: 'half keep',
  error: faults.card_expiry,
})}
${textField({
  name: 'card_cvc',
  label: texts.cardCvc,
  autocomplete: 'cc-csc',
  inputmode: 'numeric',
  maxlength: 4,
  width: 'half keep',
  error: faults.card_cvc,
})}
</div><p class="hint">${texts.secured}</p>`

function couponSection({ form, faults, coupon, texts, quote }: CheckoutView): Html {
  return html`<div class="couponbox"><div class="coupon">
${textField({
  name: 'coupon',
  label: texts.coupon,
  value: form.coupon,
  error: undefined,
  optional: texts.optional,
  maxlength: 100,
  autocomplete: 'off',
})}
<button class="button quiet" name="action" value="update">${texts.couponApply}</button></div>
<div data-part="coupon" aria-live="polite">${
    faults.coupon
      ? html`<span class="error" id="f-coupon-error">${faults.coupon}</span>`
      : coupon &&
        html`<p class="small below">${texts.couponApplied(coupon.code, money(coupon.savedMinor, quote.currency, texts))}</p>`
  }</div></div>`
}
