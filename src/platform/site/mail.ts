import { type Html, html } from '../html.ts'

/** The shell of our mails: one column that every mail program shows, styled in place because many drop style sheets. */
export function mailBody(parts: {
  language: string
  business: string
  paragraphs: readonly string[]
  table?: readonly { label: string; amount: string; strong?: boolean }[]
  facts?: readonly [string, string][]
  code?: { label: string; text: string } | undefined
  button?: { label: string; url: string }
  foot?: string
}): Html {
  const cell = 'padding:6px 0;border-bottom:1px solid #e4e1da;font-size:15px;'
  return html`<!doctype html><html lang="${parts.language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"></head>
<body style="margin:0;padding:24px 12px;background:#f5f4f0;color:#1d1c1a;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border:1px solid #dcd8cf;border-radius:12px"><tr><td style="padding:28px">
<p style="margin:0 0 20px;font-weight:bold">${parts.business}</p>
${parts.paragraphs.map(text => html`<p style="margin:0 0 14px">${text}</p>`)}
${
  parts.code &&
  html`<p style="margin:0 0 6px;color:#5d5952">${parts.code.label}</p><p style="margin:0 0 18px;padding:12px 16px;border:1px dashed #8d877c;border-radius:8px;font-family:monospace;font-size:18px;font-weight:bold">${parts.code.text}</p>`
}
${
  parts.table &&
  parts.table.length > 0 &&
  html`<table width="100%" cellpadding="0" cellspacing="0" style="margin:8px 0 18px;border-collapse:collapse">${parts.table.map(
    row =>
      html`<tr><td style="${cell}${row.strong ? 'font-weight:bold' : ''}">${row.label}</td><td align="right" style="${cell}white-space:nowrap;${row.strong ? 'font-weight:bold' : ''}">${row.amount}</td></tr>`,
  )}</table>`
}
${
  parts.facts &&
  parts.facts.length > 0 &&
  html`<table width="100%" cellpadding="0" cellspacing="0" style="margin:0 0 18px">${parts.facts.map(
    ([label, value]) =>
      html`<tr><td style="padding:3px 16px 3px 0;color:#5d5952;font-size:14px;white-space:nowrap;vertical-align:top">${label}</td><td style="padding:3px 0;font-size:14px;white-space:pre-line">${value}</td></tr>`,
  )}</table>`
}
${
  parts.button &&
  html`<p style="margin:18px 0"><a data-no-track href="${parts.button.url}" style="display:inline-block;padding:12px 22px;background:#0b6b5b;color:#ffffff;border-radius:8px;font-weight:bold;text-decoration:none">${parts.button.label}</a></p>`
}
${parts.foot && html`<p style="margin:14px 0 0;color:#5d5952;font-size:14px">${parts.foot}</p>`}
</td></tr></table></td></tr></table></body></html>`
}
