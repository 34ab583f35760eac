import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import * as products from './products.ts'
import { ProductChanges, ProductFields, ProductPath, ProductSchema } from './schema.ts'

export const create = endpoint({
  summary: 'Create a product',
  body: ProductFields,
  answer: envelope(ProductSchema),
  run: async ({ db, business, body }) =>
    ok('Product created', products.showProduct(await products.createProduct(db, business, body))),
})

export const update = endpoint({
  summary: 'Change a product',
  params: ProductPath,
  body: ProductChanges,
  answer: envelope(ProductSchema),
  run: async ({ db, business, params, body }) =>
    ok('Product updated', products.showProduct(await products.updateProduct(db, business, params.product_id, body))),
})

export const list = endpoint({
  summary: 'All products, newest first',
  query: Type.Object(PageQuery),
  answer: pageEnvelope(ProductSchema),
  run: async ({ db, business, query }) => {
    const page = pageRequest(query)
    const { rows, total } = await products.pageOfProducts(db, business.id, page)
    return okPage('Products', rows.map(products.showProduct), page, total)
  },
})

export const get = endpoint({
  summary: 'One product',
  params: ProductPath,
  answer: envelope(ProductSchema),
  run: async ({ db, business, params }) =>
    ok('Product', products.showProduct(await products.getProduct(db, business.id, params.product_id))),
})

export const remove = endpoint({
  summary: 'Delete a product with all that is sold with it',
  description: 'Refused while one of its plans has live subscriptions. Answers the deleted product.',
  params: ProductPath,
  answer: envelope(ProductSchema),
  run: async ({ db, business, params }) =>
    ok('Product deleted', products.showProduct(await products.deleteProduct(db, business, params.product_id))),
})
