import { Type } from 'typebox'
import { invalidField } from '../../../platform/problem.ts'
import { Common, kind } from '../kind.ts'
import {
  Body,
  bodyPart,
  CatalogId,
  Footer,
  footerPart,
  HeaderText,
  headerPart,
  interactive,
  limits,
  ProductId,
  Text,
} from '../parts.ts'

/** The one kind that answers `success`; interactiveType may be left out. */
export const multiProduct = kind({
  name: 'multi-product',
  type: 'interactive',
  interactiveType: 'product_list',
  answersSuccess: true,
  body: Type.Object({
    ...Common,
    type: Type.Literal('interactive'),
    interactiveType: Type.Optional(Type.Literal('product_list')),
    header: HeaderText,
    body: Body,
    footer: Footer,
    action: Type.Object({ catalogId: CatalogId }),
    sections: Type.Array(
      Type.Object({
        title: Text(limits.sectionTitle),
        products: Type.Array(Type.Object({ productRetailerId: ProductId }), { minItems: 1 }),
      }),
      { minItems: 1, maxItems: limits.sections },
    ),
  }),
  check: ({ sections }) => {
    const products = sections.reduce((count, section) => count + section.products.length, 0)
    if (products > limits.products)
      throw invalidField('sections', `must have at most ${limits.products} products in total`)
  },
  build: ({ header, body, footer, action, sections }) =>
    interactive({
      type: 'product_list',
      ...headerPart(header),
      ...bodyPart(body),
      ...footerPart(footer),
      action: {
        catalog_id: action.catalogId,
        sections: sections.map(({ title, products }) => ({
          title,
          product_items: products.map(product => ({ product_retailer_id: product.productRetailerId })),
        })),
      },
    }),
})
