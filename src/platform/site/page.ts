import { join } from 'node:path'
import { Raw } from '../endpoint.ts'
import { type Html, html } from '../html.ts'
import { type Asset, readAsset } from './assets.ts'

/** The shell of every page that people see: our own style, no inline script or style, nothing from elsewhere. */

const asset = (name: string) => readAsset(join(import.meta.dirname, name), '/site')
const siteStyle = asset('style.css')
const siteIcon = asset('icon.svg')
export const siteAssets = [siteStyle, siteIcon]

export interface PageParts {
  language: string
  title: string
  body: Html
  /** the name above the page, of the business */
  heading?: string
  /** a page of one column */
  narrow?: boolean
  foot?: Html
  assets?: readonly Asset[]
  status?: number
  cookie?: string
  headers?: Record<string, string>
  /** where else a form of the page may lead, such as a payment provider */
  formTargets?: readonly string[]
}

export function page(parts: PageParts): Raw {
  const { language, title, body, heading, foot, assets = [] } = parts
  const styles = [siteStyle, ...assets].filter(asset => asset.name.endsWith('.css'))
  const scripts = assets.filter(asset => asset.name.endsWith('.js'))
  const document = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${siteIcon.url}" type="image/svg+xml">
${styles.map(style => html`<link rel="stylesheet" href="${style.url}">`)}
${scripts.map(script => html`<script src="${script.url}" defer></script>`)}
</head>
<body>
${heading && html`<header class="top${parts.narrow && ' narrow'}">${heading}</header>`}
<main>${body}</main>
${foot && html`<footer class="foot${parts.narrow && ' narrow'}">${foot}</footer>`}
</body>
</html>
`
  return new Raw('text/html; charset=utf-8', document.text, {
    status: parts.status ?? 200,
    headers: {
      ...pageHeaders(parts.formTargets),
      ...(parts.cookie !== undefined && { 'set-cookie': parts.cookie }),
      ...parts.headers,
    },
  })
}

export const pageHeaders = (formTargets: readonly string[] = []): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    ["form-action 'self'", ...formTargets].join(' '),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  // Addresses of receipts and portals are secrets; other sites must not learn them.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
})

export const redirect = (location: string, more: { cookie?: string } = {}) =>
  new Raw('text/plain; charset=utf-8', '', {
    status: 303,
    headers: { location, ...pageHeaders(), ...(more.cookie !== undefined && { 'set-cookie': more.cookie }) },
  })
