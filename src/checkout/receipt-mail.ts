import type { Context } from '../billing/context.ts'
import { invoiceNumber } from '../billing/invoices/show.ts'
import { queueSystemMail } from '../email/delivery/system-mail.ts'
import type { Tx } from '../platform/database.ts'
import { mailBody } from '../platform/site/mail.ts'
import { findFacts } from './facts.ts'
import { receiptFacts, receiptLines, receiptPath, standingOf } from './receipt.ts'
import { textsOf } from './texts/choose.ts'

/** Sends the receipt (or, before it is paid, the invoice) of a purchase through the email service. */
export async function sendReceipt(
  tx: Tx,
  { platform, business, now }: Context,
  { subscriptionId, language }: { subscriptionId: string; language: string },
): Promise<void> {
  const facts = await findFacts(tx, business.id, subscriptionId)
  if (!facts) return
  const texts = textsOf(language)
  const { customer, invoice, product, licenseCode } = facts
  const number = invoice ? invoiceNumber(invoice) : ''
  const standing = standingOf(facts)
  const subject =
    standing === 'trial' || !number
      ? texts.mail.trialSubject(product.productName)
      : standing === 'unpaid'
        ? texts.mail.invoiceSubject(number, business.name)
        : texts.mail.receiptSubject(number, business.name)
  await queueSystemMail(tx, business, {
    to: customer.emailId,
    subject,
    now,
    html: mailBody({
      language: texts.language,
      business: business.name,
      paragraphs: [texts.mail.hello(customer.firstName), texts.mail.thanks(business.name)],
      code: licenseCode === undefined ? undefined : { label: texts.receipt.license, text: licenseCode },
      table: receiptLines(facts, texts),
      facts: receiptFacts(facts, texts),
      button: {
        label: texts.mail.viewReceipt,
        url: platform.config.publicUrl + receiptPath(platform.secrets, business.id, subscriptionId),
      },
    }),
  })
}
