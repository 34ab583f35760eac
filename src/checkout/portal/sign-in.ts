import type { BusinessRow } from '../../accounts/store.ts'
import { findCustomerByEmail } from '../../billing/customers/customers.ts'
import { queueSystemMail } from '../../email/delivery/system-mail.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Call, Raw } from '../../platform/endpoint.ts'
import { html } from '../../platform/html.ts'
import { textField } from '../../platform/site/fields.ts'
import { mailBody } from '../../platform/site/mail.ts'
import { page, redirect } from '../../platform/site/page.ts'
import { isTriedOut, noteTry } from '../../platform/site/tries.ts'
import { checkoutAssets } from '../checkout-page.ts'
import { isEmailLike } from '../entry.ts'
import { linkLimit } from '../limits.ts'
import type { Visitation } from '../page.ts'
import type { Texts } from '../texts/en.ts'
import { notice, portalPath } from './layout.ts'
import { endedCookie, enterPath, getBusiness, readLink, sessionCookie } from './session.ts'

/** The way in: an address, a mail, a link. */

type PortalPath = { business_id: string }

export function signInPage(
  business: BusinessRow,
  texts: Texts,
  more: { email?: string; error?: string; over?: boolean } = {},
): Raw {
  return page({
    language: texts.language,
    title: `${texts.portal.signIn} · ${business.name}`,
    heading: business.name,
    narrow: true,
    assets: checkoutAssets,
    status: more.error ? 422 : 200,
    body: html`<div class="page narrow"><div class="card stack"><h1>${texts.portal.signIn}</h1>
${more.over && notice(texts.portal.linkOver)}
<p>${texts.portal.signInText(business.name)}</p>
<form class="stack" method="post" action="${portalPath(business.id, 'link')}" novalidate data-once>
<input type="hidden" name="lang" value="${texts.language}">
${textField({ name: 'email', label: texts.email, type: 'email', autocomplete: 'email', value: more.email, error: more.error, maxlength: 254 })}
<button class="button">${texts.portal.send}</button></form></div></div>`,
  })
}

/** Says the same whether the address belongs to a customer or not, after the same work. */
export async function takeSignIn({ call, params, form, texts }: Visitation<PortalPath>): Promise<Raw> {
  const business = await getBusiness(call, params.business_id)
  const email = (form.email ?? '').trim()
  if (!isEmailLike(email)) return signInPage(business, texts, { email, error: texts.faults.email })
  const limit = linkLimit({ email, ip: call.ip })
  if (await isTriedOut(call.db, business.id, limit))
    return signInPage(business, texts, { email, error: texts.portal.tooOften })
  await noteTry(call.db, business.id, limit, call.requestId)
  const customer = await findCustomerByEmail(call.db, business.id, email)
  if (customer)
    await mailLink(call, business, { id: customer.id, email: customer.emailId, name: customer.firstName }, texts)
  return page({
    language: texts.language,
    title: texts.portal.sent,
    heading: business.name,
    narrow: true,
    assets: checkoutAssets,
    body: html`<div class="page narrow"><div class="card stack"><h1>${texts.portal.sent}</h1><p>${texts.portal.sentText(email)}</p></div></div>`,
  })
}

async function mailLink(
  { platform }: Call,
  business: BusinessRow,
  customer: { id: string; email: string; name: string },
  texts: Texts,
): Promise<void> {
  const now = await nowFor(platform.db, business)
  await platform.db.begin(tx =>
    queueSystemMail(tx, business, {
      to: customer.email,
      subject: texts.mail.portalSubject(business.name),
      now,
      html: mailBody({
        language: texts.language,
        business: business.name,
        paragraphs: [texts.mail.hello(customer.name), texts.mail.portalText(business.name)],
        button: {
          label: texts.mail.portalButton,
          url: platform.config.publicUrl + enterPath(platform.secrets, business.id, customer.id),
        },
        foot: texts.mail.portalExpires,
      }),
    }),
  )
}

export async function showEnter({ call, params, texts }: Visitation<PortalPath & { token: string }>): Promise<Raw> {
  const business = await getBusiness(call, params.business_id)
  const customerId = readLink(call.platform.secrets, business.id, params.token)
  if (customerId === undefined) return signInPage(business, texts, { over: true })
  return redirect(portalPath(business.id), { cookie: sessionCookie(call, business.id, customerId) })
}

export async function takeLeave({ call, params }: Visitation<PortalPath>): Promise<Raw> {
  const business = await getBusiness(call, params.business_id)
  return redirect(portalPath(business.id), { cookie: endedCookie(call, business.id) })
}
