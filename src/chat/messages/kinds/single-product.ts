import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import { Body, bodyPart, CatalogId, Footer, footerPart, interactive, ProductId } from '../parts.ts'

export const singleProduct = kind({
  name: 'single product',
  type: 'interactive',
  interactiveType: 'product',
  body: Type.Object({
    ...Common,
    type: Type.Literal('interactive'),
    interactiveType: Type.Literal('product'),
    body: Type.Optional(Body),
    footer: Footer,
    action: Type.Object({ catalogId: CatalogId, productRetailerId: ProductId }),
  }),
  forbidden: ['header'],
  build: ({ body, footer, action }) =>
    interactive({
      type: 'product',
      ...bodyPart(body),
      ...footerPart(footer),
      action: { catalog_id: action.catalogId, product_retailer_id: action.productRetailerId },
    }),
})
