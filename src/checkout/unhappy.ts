import type { Raw } from '../platform/endpoint.ts'
import { html } from '../platform/html.ts'
import { page } from '../platform/site/page.ts'
import { checkoutAssets } from './checkout-page.ts'
import type { Texts } from './texts/en.ts'

/** A page for when there is nothing to sell or to show: says what happened and what to do. */
export function unhappyPage(
  words: { title: string; text: string },
  options: { status: number; texts: Texts; heading?: string; again?: string; headers?: Record<string, string> },
): Raw {
  const { texts, again } = options
  return page({
    language: texts.language,
    title: words.title,
    heading: options.heading,
    status: options.status,
    headers: options.headers,
    narrow: true,
    assets: checkoutAssets,
    body: html`<div class="page narrow"><div class="card stack"><h1>${words.title}</h1><p>${words.text}</p>${
      again && html`<p><a class="button" href="${again}">${texts.unhappy.again}</a></p>`
    }</div></div>`,
  })
}
