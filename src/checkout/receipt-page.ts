import { contextOf } from '../billing/context.ts'
import { invoicePdf } from '../billing/invoices/pdf.ts'
import { invoiceNumber } from '../billing/invoices/show.ts'
import type { InvoiceRow } from '../billing/invoices/store.ts'
import type { Business } from '../platform/business.ts'
import { type Call, Raw } from '../platform/endpoint.ts'
import { notFound } from '../platform/problem.ts'
import { page } from '../platform/site/page.ts'
import { checkoutAssets } from './checkout-page.ts'
import { findFacts } from './facts.ts'
import type { Visitation } from './page.ts'
import { readReceiptToken, receiptBody, standingOf, titleOf } from './receipt.ts'

export async function showReceipt({ call, params, texts }: Visitation<{ token: string }>): Promise<Raw> {
  const named = readReceiptToken(call.platform.secrets, params.token)
  const facts = named && (await findFacts(call.db, named.businessId, named.subscriptionId))
  if (!facts) throw notFound('Receipt')
  const { business, invoice } = facts
  const standing = standingOf(facts)
  return page({
    language: texts.language,
    title: `${titleOf(standing, texts)} · ${business.name}`,
    heading: business.name,
    narrow: true,
    assets: checkoutAssets,
    // A payment in doubt is looked at again now and then.
    headers: standing === 'pending' ? { refresh: '10' } : {},
    body: receiptBody(
      facts,
      {
        pdf: invoice?.number ? `/checkout/receipt/${params.token}/pdf` : undefined,
        portal: `/portal/${business.id}`,
      },
      texts,
    ),
  })
}

export async function showReceiptPdf({ call, params }: Visitation<{ token: string }>): Promise<Raw> {
  const named = readReceiptToken(call.platform.secrets, params.token)
  const facts = named && (await findFacts(call.db, named.businessId, named.subscriptionId))
  if (!facts?.invoice?.number) throw notFound('Invoice')
  return pdfOf(call, facts.business, facts.invoice)
}

export async function pdfOf(call: Call, business: Business, invoice: InvoiceRow): Promise<Raw> {
  const pdf = await invoicePdf(await contextOf({ ...call, business }), invoice)
  return new Raw('application/pdf', pdf, {
    headers: {
      'content-disposition': `attachment; filename="${invoiceNumber(invoice)}.pdf"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  })
}
