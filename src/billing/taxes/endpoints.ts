import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { TaxChanges, TaxFields, TaxPath, TaxSchema } from './schema.ts'
import * as taxes from './taxes.ts'

export const create = endpoint({
  summary: 'Create a tax',
  description: 'The billing address of a customer chooses it: country and state before the country alone.',
  body: TaxFields,
  answer: envelope(TaxSchema),
  run: async ({ db, business, body }) => ok('Tax created', taxes.showTax(await taxes.createTax(db, business, body))),
})

export const list = endpoint({
  summary: 'All taxes, newest first',
  query: Type.Object(PageQuery),
  answer: pageEnvelope(TaxSchema),
  run: async ({ db, business, query }) => {
    const page = pageRequest(query)
    const { rows, total } = await taxes.pageOfTaxes(db, business.id, page)
    return okPage('Taxes', rows.map(taxes.showTax), page, total)
  },
})

export const update = endpoint({
  summary: 'Change a tax',
  description: 'Invoices that were issued keep their rate.',
  params: TaxPath,
  body: TaxChanges,
  answer: envelope(TaxSchema),
  run: async ({ db, business, params, body }) =>
    ok('Tax updated', taxes.showTax(await taxes.updateTax(db, business, params.id, body))),
})

export const remove = endpoint({
  summary: 'Delete a tax',
  description: 'Answers the deleted tax.',
  params: TaxPath,
  answer: envelope(TaxSchema),
  run: async ({ db, business, params }) =>
    ok('Tax deleted', taxes.showTax(await taxes.deleteTax(db, business, params.id))),
})
