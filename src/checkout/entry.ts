import type { AddonRow } from '../billing/addons/store.ts'
import { countryCode } from '../billing/countries.ts'
import type { Address } from '../billing/customers/schema.ts'
import { checkTaxId } from '../billing/customers/tax-id.ts'
import type { Card } from '../billing/gateways/gateway.ts'
import { toMinor } from '../billing/money.ts'
import type { PlanRow } from '../billing/plans/store.ts'
import type { Form } from '../platform/endpoint.ts'
import { Problem } from '../platform/problem.ts'
import type { Texts } from './texts/en.ts'

/** What a person typed into the checkout form, read field by field; a fault is told beside its field. */

export type Faults = Record<string, string>
export type Method = 'card' | 'stripe' | 'offline'

export const maxQuantity = 100_000
const maxAddonQuantity = 10_000

export const addonField = (addonId: string) => `addon-${addonId}`
export const addonQuantityField = (addonId: string) => `addonqty-${addonId}`

const typed = (form: Form, name: string) => (form[name] ?? '').trim()

function readWhole(text: string, max: number): number | undefined {
  const whole = /^\d{1,9}$/.test(text) ? Number(text) : 0
  return whole >= 1 && whole <= max ? whole : undefined
}

export function readQuantity(form: Form, plan: PlanRow, faults: Faults, texts: Texts): number {
  const text = typed(form, 'quantity')
  if (plan.planType !== 'per_unit' || text === '') return 1
  const quantity = readWhole(text, maxQuantity)
  if (quantity === undefined) faults.quantity = texts.faults.quantity(maxQuantity)
  return quantity ?? 1
}

/** What a person gives by their own choice; undefined for plans with a fixed price. */
export function readAmount(form: Form, plan: PlanRow, faults: Faults, texts: Texts): bigint | undefined {
  if (plan.planType !== 'donation') return undefined
  const text = typed(form, 'amount').replace(',', '.')
  if (text === '') return plan.priceMinor
  try {
    const amount = toMinor(text, plan.currencyCode, 'amount')
    if (amount === 0n) faults.amount = texts.faults.amountTooSmall
    return amount
  } catch {
    faults.amount = texts.faults.amount
    return plan.priceMinor
  }
}

export interface ChosenAddon {
  addon: AddonRow
  quantity: number
}

export function readAddons(form: Form, onSale: readonly AddonRow[], faults: Faults, texts: Texts): ChosenAddon[] {
  return onSale
    .filter(addon => form[addonField(addon.id)] !== undefined)
    .map(addon => {
      const name = addonQuantityField(addon.id)
      const text = typed(form, name)
      const quantity = text === '' ? 1 : readWhole(text, maxAddonQuantity)
      if (quantity === undefined) faults[name] = texts.faults.addonQuantity(addon.name, maxAddonQuantity)
      return { addon, quantity: quantity ?? 1 }
    })
}

export interface Person {
  email: string
  firstName: string
  lastName: string
  company: string
  taxId: string
  address: Address
}

const emailForm = /^[^\s@"<>(),:;[\]\\]+@[^\s@.]+(\.[^\s@.]+)+$/

/** Whether mail could be sent there, as far as the form of it tells. */
export const isEmailLike = (email: string) => email.length <= 254 && emailForm.test(email)

/** Read in every case, because the address chooses the tax; only an order needs all of it. */
export function readPerson(form: Form, faults: Faults, texts: Texts): Person {
  const text = (name: string, label: string, needed: boolean) => {
    const value = typed(form, name)
    if (value.length > 255) faults[name] = texts.faults.tooLong(label)
    else if (needed && value === '') faults[name] = texts.faults.required(label)
    return value
  }
  const email = typed(form, 'email')
  if (!isEmailLike(email)) faults.email = texts.faults.email
  const firstName = text('first_name', texts.firstName, true)
  const lastName = text('last_name', texts.lastName, true)
  const country = countryCode(typed(form, 'country'))
  if (country === undefined) faults.country = texts.faults.country
  const address = {
    street1: text('street', texts.street, true),
    city: text('city', texts.city, true),
    state: text('state', texts.state, false),
    zip_code: text('zip', texts.zip, false),
    country: country ?? '',
  }
  const company = text('company', texts.company, false)
  const taxId = text('tax_id', texts.taxId, false)
  try {
    checkTaxId(taxId, country)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    faults.tax_id = texts.faults.taxId
  }
  return { email, firstName, lastName, company, taxId, address }
}

export function readMethod(form: Form, offered: readonly Method[], faults: Faults, texts: Texts): Method | undefined {
  const method = offered.find(one => one === typed(form, 'method'))
  if (!method) faults.method = texts.faults.method
  return method
}

/** The card goes to the gateway and nowhere else: it is never put into a page, a row or a log. */
export function readCard(form: Form, now: Date, faults: Faults, texts: Texts): Card | undefined {
  const number = typed(form, 'card_number').replaceAll(/[\s-]/g, '')
  const [, month = '', year = ''] = /^(\d{1,2})\s*[/.-]?\s*(?:20)?(\d{2})$/.exec(typed(form, 'card_expiry')) ?? []
  const cvc = typed(form, 'card_cvc')
  const before = Object.keys(faults).length
  if (!/^\d{12,19}$/.test(number) || !isLuhn(number)) faults.card_number = texts.faults.cardNumber
  const [expMonth, expYear] = [Number(month), 2000 + Number(year)]
  const over = expYear * 12 + expMonth < now.getUTCFullYear() * 12 + now.getUTCMonth() + 1
  if (month === '' || expMonth < 1 || expMonth > 12 || over) faults.card_expiry = texts.faults.cardExpiry
  if (!/^\d{3,4}$/.test(cvc)) faults.card_cvc = texts.faults.cardCvc
  return Object.keys(faults).length > before ? undefined : { number, exp_month: expMonth, exp_year: expYear, cvc }
}

/** The check digit that every card number ends with: finds a slip of the finger before the bank does. */
function isLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits.at(-1 - i))
    const doubled = i % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
