import { Type } from 'typebox'
import { type Call, endpoint, Raw } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { type Context, contextOf } from '../context.ts'
import { getCustomer } from '../customers/customers.ts'
import { CustomerPath } from '../customers/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { collect as collectNow, getInvoice, recordPayment, voidInvoice } from './invoices.ts'
import { invoicePdf } from './pdf.ts'
import {
  CollectRequest,
  InvoiceDetailSchema,
  InvoicePath,
  InvoiceQuery,
  InvoiceSchema,
  RecordPayment,
} from './schema.ts'
import { invoiceNumber, showInvoice, showInvoices, showLine } from './show.ts'
import type { InvoiceRow } from './store.ts'
import * as store from './store.ts'

async function pageOf(call: Call<unknown, Type.Static<typeof InvoiceQuery>>, customerId?: string) {
  const { db, business, query } = call
  const page = pageRequest(query)
  const filter = { customerId, status: query.status, subscriptionId: query.subscription_id }
  const { rows, total } = await store.pageOfInvoices(db, business.id, filter, page)
  return okPage('Invoices', await showInvoices(db, business.id, rows), page, total)
}

export const list = endpoint({
  summary: 'All invoices, newest first',
  query: InvoiceQuery,
  answer: pageEnvelope(InvoiceSchema),
  run: call => pageOf(call),
})

export const listOfCustomer = endpoint({
  summary: "A customer's invoices, newest first",
  params: CustomerPath,
  query: InvoiceQuery,
  answer: pageEnvelope(InvoiceSchema),
  run: async call => {
    const customer = await getCustomer(call.db, call.business.id, call.params.customer_id)
    return pageOf(call, customer.id)
  },
})

const detail = async ({ db, business }: Context, row: InvoiceRow) => ({
  ...(await showInvoice(db, business.id, row)),
  lines: (await store.linesOf(db, business.id, row)).map(line => showLine(line, row.currency)),
})

export const get = endpoint({
  summary: 'One invoice with its lines',
  params: InvoicePath,
  answer: envelope(InvoiceDetailSchema),
  run: async call => {
    const context = await contextOf(call)
    return ok('Invoice', await detail(context, await getInvoice(context, call.params.invoice_id)))
  },
})

export const pdf = endpoint({
  summary: 'The invoice as PDF',
  params: InvoicePath,
  run: async call => {
    const context = await contextOf(call)
    const row = await getInvoice(context, call.params.invoice_id)
    const name = invoiceNumber(row) || `draft-${row.id}`
    return new Raw('application/pdf', await invoicePdf(context, row), {
      headers: { 'content-disposition': `inline; filename="${name}.pdf"` },
    })
  },
})

export const record = endpoint({
  summary: 'Record a payment that came by hand',
  params: InvoicePath,
  body: RecordPayment,
  answer: envelope(InvoiceDetailSchema),
  run: async call => {
    const context = await contextOf(call)
    return ok(
      'Payment recorded',
      await detail(context, await recordPayment(context, call.params.invoice_id, call.body)),
    )
  },
})

export const collect = endpoint({
  summary: 'Charge what is due now, with another card if one is given',
  params: InvoicePath,
  body: Type.Optional(CollectRequest),
  answer: envelope(InvoiceDetailSchema),
  effects: 'outside',
  run: async call => {
    const context = await contextOf(call)
    const row = await collectNow(context, call.params.invoice_id, call.body?.card_id)
    return ok('Invoice collected', await detail(context, row))
  },
})

export const cancel = endpoint({
  summary: 'Void an invoice that nobody paid',
  params: InvoicePath,
  answer: envelope(InvoiceDetailSchema),
  run: async call => {
    const context = await contextOf(call)
    return ok('Invoice voided', await detail(context, await voidInvoice(context, call.params.invoice_id)))
  },
})
