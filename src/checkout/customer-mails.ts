import { businessById } from '../accounts/store.ts'
import { contextOf } from '../billing/context.ts'
import { localDate } from '../billing/dates.ts'
import { invoiceNumber } from '../billing/invoices/show.ts'
import { toMinor } from '../billing/money.ts'
import { queueSystemMail } from '../email/delivery/system-mail.ts'
import { nested, type Tx } from '../platform/database.ts'
import type { Reactions, ToldEvent } from '../platform/events.ts'
import type { Platform } from '../platform/platform.ts'
import { mailBody } from '../platform/site/mail.ts'
import { type Facts, findFacts } from './facts.ts'
import { enterPath } from './portal/session.ts'
import { type ReceiptLine, receiptFacts, receiptLines } from './receipt.ts'
import * as store from './store.ts'
import { textsOf } from './texts/choose.ts'
import type { Texts } from './texts/en.ts'
import { longDate, money } from './words.ts'

/**
 * What we write to a customer when billing tells that something happened: receipts and invoices of renewals, a card that
 * failed or that a bank asks about, refunds, plan changes, the end. The receipt of an order at the counter is sent by the checkout itself.
 * Spec silent: on by default; `settings.customerMails: false` of the business turns it off.
 */
interface Letter {
  subject: string
  paragraphs: string[]
  table?: ReceiptLine[]
  facts?: [string, string][]
  button?: string
  /** where the button leads; their account, unless something else is asked of them */
  url?: string
}

type Write = (subject: Subject) => Letter | undefined

/** Whom the event is about, and what is needed to write about it. */
interface Subject {
  data: Record<string, unknown>
  facts: Facts
  texts: Texts
  ordered: boolean
  day: (at: Date) => string
}

const letters: Record<string, Write> = {
  payment_success: receipt,
  invoice_create: invoice,
  payment_action_required: confirm,
  invoice_dunning: cardFailed,
  invoice_overdue: overdue,
  payment_refund: refund,
  subscription_upgrade: planChanged,
  subscription_downgrade: planChanged,
  subscription_about_to_renew: renewsSoon,
  subscription_cancel: ({ facts, texts }) => ending(texts.mails.ended(facts.plan.planName), facts, texts),
  subscription_cancel_scheduled: ({ facts, texts, day }) => {
    const end = facts.subscription.nextBillingAt
    return end ? ending(texts.mails.ends(facts.plan.planName, day(end)), facts, texts) : undefined
  },
}

export const customerMails = (platform: Platform): Reactions =>
  Object.fromEntries(
    Object.entries(letters).map(([type, write]) => [type, (tx, event) => mail(platform, tx, event, write)]),
  )

async function mail(platform: Platform, tx: Tx, event: ToldEvent, write: Write): Promise<void> {
  const { businessId, data } = event
  const business = await businessById(tx, businessId)
  if (!business || business.settings.customerMails === false) return
  const subscriptionId = String(data.subscription_id ?? data.id)
  const invoiceId = event.type.startsWith('invoice_') ? data.id : data.invoice_id
  const facts = await findFacts(tx, businessId, subscriptionId, typeof invoiceId === 'string' ? invoiceId : undefined)
  if (!facts) return
  const order = await store.findOrderOf(tx, businessId, subscriptionId)
  const texts = textsOf(order?.language ?? 'en')
  const letter = write({
    data,
    facts,
    texts,
    ordered: order !== undefined,
    day: at => longDate(localDate(at, business.timeZone), texts),
  })
  if (!letter) return
  const { now } = await contextOf({ platform, db: nested(tx), business }, 'scheduler')
  const { subject, paragraphs, table, button = texts.mails.open, facts: shown } = letter
  const account = platform.config.publicUrl + enterPath(platform.secrets, businessId, facts.customer.id)
  await queueSystemMail(tx, business, {
    to: facts.customer.emailId,
    subject,
    now,
    html: mailBody({
      language: texts.language,
      business: business.name,
      paragraphs: [texts.mail.hello(facts.customer.firstName), ...paragraphs],
      ...(table && { table }),
      ...(shown && { facts: shown }),
      button: { label: button, url: letter.url ?? account },
    }),
  })
}

function receipt({ facts, texts, data, ordered }: Subject): Letter | undefined {
  const { invoice: paid, business } = facts
  if (!paid || (ordered && paid.kind === 'purchase')) return undefined
  return {
    subject: texts.mail.receiptSubject(invoiceNumber(paid), business.name),
    paragraphs: [texts.mails.paid(amountOf(data, texts), business.name)],
    table: receiptLines(facts, texts),
    facts: receiptFacts(facts, texts),
  }
}

/** For who pays by invoice, and where credit covers all: card payments get a receipt once they are paid. */
function invoice({ facts, texts, ordered, day }: Subject): Letter | undefined {
  const { invoice: issued, subscription, business } = facts
  if (!issued || issued.totalMinor === 0n || (ordered && issued.kind === 'purchase')) return undefined
  const covered = issued.status === 'paid' && issued.paidMinor === 0n
  if (!covered && (issued.status !== 'sent' || subscription.gateway !== 'offline')) return undefined
  return {
    subject: texts.mail.invoiceSubject(invoiceNumber(issued), business.name),
    paragraphs: [
      covered
        ? texts.mails.credited(business.name)
        : texts.mails.due(money(issued.dueMinor, issued.currency, texts), day(issued.dueAt)),
    ],
    table: receiptLines(facts, texts),
    facts: receiptFacts(facts, texts),
  }
}

/**
 * Their bank wants to hear from them. Only for an invoice that was issued: who buys or changes a plan is there and is asked
 * at once. Where the bank has no page of its own, they can pay with another card in their account.
 */
function confirm({ facts, texts, data }: Subject): Letter | undefined {
  const { invoice: asked, business, product } = facts
  if (asked?.status !== 'sent' || asked.dueMinor === 0n) return undefined
  const url = String(data.action_url ?? '')
  const { mails } = texts
  return {
    subject: mails.confirmSubject(business.name),
    paragraphs: [
      mails.confirm(amountOf(data, texts), product.productName),
      url ? mails.confirmHint : mails.confirmElsewhere,
    ],
    ...(url ? { button: mails.confirmButton, url } : { button: mails.changeCard }),
  }
}

/** By the invoice as it is now: one that was paid in the meantime is not complained about. */
function cardFailed({ facts, texts, day }: Subject): Letter | undefined {
  const { invoice: failed, business, product } = facts
  if (!failed?.chargeAt || failed.dueMinor === 0n) return undefined
  return {
    subject: texts.mails.failedSubject(business.name),
    paragraphs: [
      texts.mails.failed(money(failed.dueMinor, failed.currency, texts), product.productName),
      texts.mails.retry(day(failed.chargeAt)),
    ],
    button: texts.mails.changeCard,
  }
}

function overdue({ facts, texts }: Subject): Letter | undefined {
  const { invoice: late, subscription } = facts
  if (late?.status !== 'overdue') return undefined
  const number = invoiceNumber(late)
  const byCard = subscription.gateway !== 'offline'
  return {
    subject: texts.mails.overdueSubject(number),
    paragraphs: [
      texts.mails.overdue(money(late.dueMinor, late.currency, texts), number),
      byCard ? texts.mails.overdueCard : texts.mails.overdueOffline,
    ],
    ...(byCard && { button: texts.mails.changeCard }),
  }
}

function refund({ facts, texts, data }: Subject): Letter {
  const { refunded, refundedAsCredit, refundedOutside, refundSubject } = texts.mails
  const say = { refund: refunded, refund_credit: refundedAsCredit }[String(data.refund_type)] ?? refundedOutside
  return { subject: refundSubject(facts.business.name), paragraphs: [say(amountOf(data, texts))] }
}

function planChanged({ facts, texts }: Subject): Letter {
  return {
    subject: texts.mail.changedSubject(facts.product.productName),
    paragraphs: [texts.mails.changed(facts.plan.planName)],
  }
}

/** Spec silent: only of long terms; who pays every month expects it. */
function renewsSoon({ facts, texts, day }: Subject): Letter | undefined {
  const { subscription, plan, product } = facts
  const months = { d: 0, w: 0, m: 1, y: 12 }[subscription.periodUnit] * subscription.periodCount
  if (months < 6 || !subscription.nextBillingAt) return undefined
  const date = day(subscription.nextBillingAt)
  return {
    subject: texts.mails.renewSubject(product.productName, date),
    paragraphs: [texts.mails.renews(plan.planName, date), texts.mails.renewHint],
  }
}

const ending = (text: string, { product }: Facts, texts: Texts): Letter => ({
  subject: texts.mails.endSubject(product.productName),
  paragraphs: [text, texts.mails.endHint],
})

/** Of a payment or refund, as the event tells it. */
function amountOf(data: Record<string, unknown>, texts: Texts): string {
  const currency = String(data.currency_code)
  return money(toMinor(data.amount as number, currency, 'amount'), currency, texts)
}
