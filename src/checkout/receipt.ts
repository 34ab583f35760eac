import { localDate } from '../billing/dates.ts'
import { invoiceNumber } from '../billing/invoices/show.ts'
import { type Html, html } from '../platform/html.ts'
import type { Secrets } from '../platform/secrets.ts'
import type { Facts } from './facts.ts'
import { countryName } from './places.ts'
import type { Texts } from './texts/en.ts'
import { longDate, money } from './words.ts'

/** What was bought and what became of it, for the page and for the mail. */

/** Whoever has the link may see the receipt: it is in the mail and in the address bar of the buyer. */
export const receiptPath = (secrets: Secrets, businessId: string, subscriptionId: string) =>
  `/checkout/receipt/${secrets.token('checkout receipt', `${businessId} ${subscriptionId}`)}`

export function readReceiptToken(secrets: Secrets, token: string) {
  const [businessId, subscriptionId] = secrets.readToken('checkout receipt', token)?.split(' ') ?? []
  return businessId && subscriptionId ? { businessId, subscriptionId } : undefined
}

export type Standing = 'pending' | 'trial' | 'unpaid' | 'paid'

/** Where the purchase stands: the money is on its way, not asked for yet, awaited, or there. */
export function standingOf({ subscription, invoice }: Facts): Standing {
  if (subscription.status === 'pending') return 'pending'
  if (!invoice) return 'trial'
  return invoice.status === 'sent' || invoice.status === 'overdue' ? 'unpaid' : 'paid'
}

export const titleOf = (standing: Standing, { receipt }: Texts) =>
  standing === 'pending' ? receipt.titlePending : standing === 'trial' ? receipt.titleTrial : receipt.title

export const cardName = (method: { brand: string; last4: string }, texts: Texts) =>
  texts.receipt.card(method.brand.charAt(0).toUpperCase() + method.brand.slice(1), method.last4)

export interface ReceiptLine {
  label: string
  amount: string
  strong?: boolean
}

export function receiptLines({ invoice, lines, plan }: Facts, texts: Texts): ReceiptLine[] {
  if (!invoice) return []
  const show = (minor: bigint) => money(minor, invoice.currency, texts)
  const discount = lines.reduce((sum, line) => sum + line.discountMinor, 0n)
  const taxes = (invoice.taxApply as { taxes?: { name: string; rate: number }[] }).taxes ?? []
  const taxName = taxes.map(tax => texts.tax(tax.name, String(tax.rate))).join(', ') || texts.portal.taxLine
  return [
    ...lines.map(line => ({
      label: `${line.kind === 'setup_fee' ? texts.setupFeeLine : line.description || plan.planName}${
        line.quantity > 1 ? ` × ${line.quantity}` : ''
      }`,
      amount: show(line.amountMinor),
    })),
    ...(discount > 0n ? [{ label: texts.discount('').replace(/ \(\)$/, ''), amount: `−${show(discount)}` }] : []),
    ...(invoice.taxMinor > 0n ? [{ label: taxName, amount: show(invoice.taxMinor) }] : []),
    { label: texts.total, amount: show(invoice.totalMinor), strong: true },
  ]
}

export function receiptFacts(facts: Facts, texts: Texts): [label: string, value: string][] {
  const { invoice, subscription, business, customer, method } = facts
  const day = (at: Date) => longDate(localDate(at, business.timeZone), texts)
  const standing = standingOf(facts)
  const rows: [string, string][] = []
  if (invoice?.number) rows.push([texts.receipt.invoice, invoiceNumber(invoice)])
  rows.push([texts.receipt.date, day(invoice?.issuedAt ?? subscription.createdAt)])
  if (invoice && standing !== 'pending')
    rows.push([texts.receipt.status, standing === 'paid' ? texts.receipt.paid : texts.receipt.due(day(invoice.dueAt))])
  if (method && standing === 'paid' && (invoice?.paidMinor ?? 0n) > 0n)
    rows.push([texts.receipt.paymentMethod, cardName(method, texts)])
  if (subscription.nextBillingAt && subscription.cyclesLeft !== 0 && !subscription.cancelAtEnd)
    rows.push([texts.receipt.nextPayment, day(subscription.nextBillingAt)])
  const { street1, zip_code, city, state, country } = customer.billingAddress
  const name = [customer.companyName, `${customer.firstName} ${customer.lastName}`.trim()].filter(Boolean).join(', ')
  const place = [street1, [zip_code, city].filter(Boolean).join(' '), state, countryName(country ?? '', texts)]
    .filter(Boolean)
    .join(', ')
  rows.push([texts.receipt.billedTo, [name, customer.emailId, place].filter(Boolean).join('\n')])
  return rows
}

export interface ReceiptLinks {
  pdf: string | undefined
  portal: string
}

export function receiptBody(facts: Facts, links: ReceiptLinks, texts: Texts): Html {
  const standing = standingOf(facts)
  const { customer, product, licenseCode } = facts
  const sent =
    standing === 'unpaid' ? texts.receipt.sentInvoiceTo(customer.emailId) : texts.receipt.sentTo(customer.emailId)
  return html`<div class="page narrow stack">
<div><h1>${titleOf(standing, texts)}</h1><p class="lead">${standing === 'pending' ? texts.receipt.pending : sent}</p></div>
${
  licenseCode &&
  html`<section class="card" aria-labelledby="license-title"><h2 id="license-title">${texts.receipt.license}</h2><code class="code">${licenseCode}</code></section>`
}
<section class="card stack" aria-labelledby="order-title"><h2 id="order-title">${product.productName} · ${facts.plan.planName}</h2>
${
  facts.invoice &&
  html`<dl class="lines">${receiptLines(facts, texts).map(
    line => html`<div${line.strong && html` class="rule sum"`}><dt>${line.label}</dt><dd>${line.amount}</dd></div>`,
  )}</dl>`
}
<dl class="facts">${receiptFacts(facts, texts).map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
<div class="actions">${links.pdf && html`<a class="button quiet" href="${links.pdf}">${texts.receipt.download}</a>`}
<a class="button quiet" href="${links.portal}">${texts.receipt.manage}</a></div>
</section>
${
  product.redirectUrl && standing !== 'pending'
    ? html`<p><a class="button" href="${product.redirectUrl}" rel="noreferrer">${texts.receipt.continue(product.productName)}</a></p>`
    : undefined
}
<p class="small muted">${texts.receipt.keep}</p></div>`
}
