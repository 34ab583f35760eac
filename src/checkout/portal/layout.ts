import type { Raw } from '../../platform/endpoint.ts'
import { type Html, html } from '../../platform/html.ts'
import { page } from '../../platform/site/page.ts'
import { checkoutAssets } from '../checkout-page.ts'
import type { Texts } from '../texts/en.ts'
import { portalToken, type Session } from './session.ts'

export const portalPath = (businessId: string, ...parts: string[]) => ['/portal', businessId, ...parts].join('/')

/** A page of the portal, for somebody who is signed in. */
export function portalPage(
  session: Session,
  texts: Texts,
  parts: { title: string; body: Html; status?: number; back?: boolean },
): Raw {
  const { business } = session.context
  return page({
    language: texts.language,
    title: `${parts.title} · ${business.name}`,
    heading: business.name,
    narrow: true,
    assets: checkoutAssets,
    status: parts.status ?? 200,
    formTargets: [session.context.platform.config.publicUrl, 'https://checkout.stripe.com', 'https://hooks.stripe.com'],
    body: html`<div class="page narrow stack"><div><h1>${parts.title}</h1></div>${parts.body}
${parts.back !== false && html`<p><a href="${portalPath(business.id)}">${texts.portal.back}</a></p>`}</div>`,
  })
}

/** A form that only this visitor can send. */
export const portalForm = (session: Session, texts: Texts, action: string, fields: Html): Html =>
  html`<form class="stack" method="post" action="${action}" novalidate data-once>
<input type="hidden" name="token" value="${portalToken(session)}"><input type="hidden" name="lang" value="${texts.language}">${fields}</form>`

export const notice = (text: string, kind: 'good' | 'bad' = 'good') =>
  html`<div class="notice${kind === 'bad' && ' bad'}" role="${kind === 'bad' ? 'alert' : 'status'}">${text}</div>`
