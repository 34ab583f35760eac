import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { ProductPath } from '../products/schema.ts'
import * as licenses from './licenses.ts'
import {
  CodePath,
  CodeSchema,
  CodesQuery,
  LicenseChanges,
  LicenseFields,
  LicensePath,
  LicenseSchema,
} from './schema.ts'

export const list = endpoint({
  summary: 'List all licenses',
  params: ProductPath,
  query: Type.Object(PageQuery),
  answer: pageEnvelope(LicenseSchema),
  run: async ({ db, business, params, query }) => {
    const page = pageRequest(query)
    const { rows, total } = await licenses.pageOfLicenses(db, business.id, params.product_id, page)
    return okPage('Licenses', [...rows], page, total)
  },
})

export const create = endpoint({
  summary: 'Create a license: a pool of codes that sales take from',
  params: ProductPath,
  body: LicenseFields,
  answer: envelope(LicenseSchema),
  run: async ({ db, business, params, body }) =>
    ok('License created', await licenses.createLicense(db, business, params.product_id, body)),
})

export const get = endpoint({
  summary: 'One license',
  params: LicensePath,
  answer: envelope(LicenseSchema),
  run: async ({ db, business, params: { product_id: productId, license_id: id } }) =>
    ok('License', await licenses.getLicense(db, business.id, { productId, id })),
})

export const update = endpoint({
  summary: 'Change a license',
  description: 'Codes that are given are added to the pool.',
  params: LicensePath,
  body: LicenseChanges,
  answer: envelope(LicenseSchema),
  run: async ({ db, business, params: { product_id: productId, license_id: id }, body }) =>
    ok('License updated', await licenses.updateLicense(db, business, { productId, id }, body)),
})

export const remove = endpoint({
  summary: 'Delete a license',
  description: 'Codes that were sold stay with their subscriptions. Answers the deleted license.',
  params: LicensePath,
  answer: envelope(LicenseSchema),
  run: async ({ db, business, params: { product_id: productId, license_id: id } }) =>
    ok('License deleted', await licenses.deleteLicense(db, business, { productId, id })),
})

export const listCodes = endpoint({
  summary: 'Codes of a license, in the order in which they are sold',
  params: LicensePath,
  query: CodesQuery,
  answer: pageEnvelope(CodeSchema),
  run: async ({ db, business, params: { product_id: productId, license_id: id }, query }) => {
    const page = pageRequest(query)
    const used = query.is_used === undefined ? undefined : query.is_used === 'yes'
    const { rows, total } = await licenses.pageOfCodes(db, business.id, { productId, id, used }, page)
    return okPage('License codes', rows.map(licenses.showCode), page, total)
  },
})

export const removeCode = endpoint({
  summary: 'Delete a code that is not used',
  params: CodePath,
  answer: envelope(CodeSchema),
  run: async ({ db, business, params: { product_id: productId, license_id: id, code } }) =>
    ok('License code deleted', licenses.showCode(await licenses.deleteCode(db, business.id, { productId, id, code }))),
})
