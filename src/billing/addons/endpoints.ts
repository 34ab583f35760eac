import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { getProduct } from '../products/products.ts'
import { ProductPath } from '../products/schema.ts'
import * as addons from './addons.ts'
import { AddonChanges, AddonFields, AddonPath, AddonSchema } from './schema.ts'

export const create = endpoint({
  summary: 'Create add-on',
  params: ProductPath,
  body: AddonFields,
  answer: envelope(AddonSchema),
  run: async ({ db, business, params, body }) =>
    ok('Add-on created', addons.showAddon(await addons.createAddon(db, business, params.product_id, body))),
})

export const update = endpoint({
  summary: 'Update add-on',
  params: AddonPath,
  body: AddonChanges,
  answer: envelope(AddonSchema),
  run: async ({ db, business, params, body }) =>
    ok('Add-on updated', addons.showAddon(await addons.updateAddon(db, business, params.addon_id, body))),
})

export const get = endpoint({
  summary: 'One add-on',
  params: AddonPath,
  answer: envelope(AddonSchema),
  run: async ({ db, business, params }) =>
    ok('Add-on', addons.showAddon(await addons.getAddon(db, business.id, params.addon_id))),
})

export const list = endpoint({
  summary: 'Add-ons of a product, newest first',
  params: ProductPath,
  query: Type.Object(PageQuery),
  answer: pageEnvelope(AddonSchema),
  run: async ({ db, business, params, query }) => {
    const product = await getProduct(db, business.id, params.product_id)
    const page = pageRequest(query)
    const { rows, total } = await addons.pageOfAddons(db, business.id, product.id, page)
    return okPage('Add-ons', rows.map(addons.showAddon), page, total)
  },
})

export const remove = endpoint({
  summary: 'Delete add-on',
  description:
    'Refused while it is in a live subscription; set its status to false instead. Answers the deleted add-on.',
  params: AddonPath,
  answer: envelope(AddonSchema),
  run: async ({ db, business, params }) =>
    ok('Add-on deleted', addons.showAddon(await addons.deleteAddon(db, business, params.addon_id))),
})
