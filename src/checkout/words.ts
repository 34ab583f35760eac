import type * as HtmlToText from 'html-to-text'
import { exponentOf } from '../billing/currencies.ts'
import { majorText } from '../billing/money.ts'
import type { PlanRow } from '../billing/plans/store.ts'
import { onFirstUse } from '../platform/first-use.ts'
import { remembered } from './remembered.ts'
import type { Texts } from './texts/en.ts'

/** Amounts, dates and terms as people read them. */

/** Formats are dear to make and cheap to use, so each is made once. */
const moneyFormat = remembered(key => {
  const [language, currency = ''] = key.split(' ')
  const digits = exponentOf(currency)
  return new Intl.NumberFormat(language, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
})
const dateFormat = remembered(language => new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }))
const numberFormat = remembered(language => new Intl.NumberFormat(language, { maximumFractionDigits: 4 }))

/** From text, not from a number: it is formatted digit by digit, so no cent can be lost on the way. */
export const money = (minor: bigint, currency: string, texts: Texts): string =>
  moneyFormat(`${texts.language} ${currency}`).format(majorText(minor, currency) as Intl.StringNumericLiteral)

export const longDate = (date: string, texts: Texts): string =>
  dateFormat(texts.language).format(new Date(`${date}T00:00:00Z`))

export const percent = (ppm: number, texts: Texts): string => numberFormat(texts.language).format(ppm / 10_000)

const htmlToText = onFirstUse<typeof HtmlToText>('html-to-text')

const wordsOnly = {
  wordwrap: false as const,
  selectors: [
    { selector: 'ul', options: { itemPrefix: '• ' } },
    { selector: 'a', options: { ignoreHref: true } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map(selector => ({ selector, options: { uppercase: false } })),
  ],
}

/** A merchant's text may hold markup; a page shows its words only. */
export const plainWords = remembered(markup =>
  markup.includes('<') || markup.includes('&')
    ? htmlToText().convert(markup.slice(0, 20_000), wordsOnly).trim()
    : markup.trim(),
)

export const endless = (plan: PlanRow) => plan.billingCycle === 'lifetime'
const comesAgain = (plan: PlanRow) => plan.billingCycle !== 'onetime'

export function priceWords(plan: PlanRow, texts: Texts): string {
  const { billingPeriod: unit, billingPeriodNum: count, currencyCode, priceMinor, planType } = plan
  if (planType === 'donation') return texts.youDecide(comesAgain(plan) ? unit : undefined, count)
  if (priceMinor === 0n) return texts.free
  const price = money(priceMinor, currencyCode, texts)
  if (!comesAgain(plan)) return planType === 'per_unit' ? texts.oncePerUnit(price) : texts.once(price)
  return planType === 'per_unit' ? texts.perUnitAndPeriod(price, unit, count) : texts.perPeriod(price, unit, count)
}

/** Trial, number of payments and setup fee, each where there is one. */
export function termWords(plan: PlanRow, texts: Texts): string[] {
  const words: string[] = []
  if (plan.trialPeriod > 0) words.push(texts.trial(plan.trialPeriod, plan.trialType))
  if (plan.billingCycle === 'specific' && plan.billingCycleNum) words.push(texts.cycles(plan.billingCycleNum))
  if (plan.setupFeeMinor > 0n) words.push(texts.setupFee(money(plan.setupFeeMinor, plan.currencyCode, texts)))
  return words
}
