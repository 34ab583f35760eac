import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { PageQuery } from '../../platform/schema.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import { getProduct } from '../products/products.ts'
import { ProductPath } from '../products/schema.ts'
import * as categories from './addon-categories.ts'
import { CategoryFields, CategoryPath, CategorySchema } from './schema.ts'

export const create = endpoint({
  summary: 'Create a category of add-ons',
  params: ProductPath,
  body: CategoryFields,
  answer: envelope(CategorySchema),
  run: async ({ db, business, params, body }) => {
    const category = await categories.createCategory(db, business, params.product_id, body.name)
    return ok('Add-on category created', categories.showCategory(category))
  },
})

export const list = endpoint({
  summary: 'Add-on categories of a product, newest first',
  params: ProductPath,
  query: Type.Object(PageQuery),
  answer: pageEnvelope(CategorySchema),
  run: async ({ db, business, params, query }) => {
    const product = await getProduct(db, business.id, params.product_id)
    const page = pageRequest(query)
    const { rows, total } = await categories.pageOfCategories(db, business.id, product.id, page)
    return okPage('Add-on categories', rows.map(categories.showCategory), page, total)
  },
})

export const remove = endpoint({
  summary: 'Delete a category of add-ons',
  description: 'The add-ons in it stay. Answers the deleted category.',
  params: CategoryPath,
  answer: envelope(CategorySchema),
  run: async ({ db, business, params }) => {
    const category = await categories.deleteCategory(db, business.id, params.id)
    return ok('Add-on category deleted', categories.showCategory(category))
  },
})
