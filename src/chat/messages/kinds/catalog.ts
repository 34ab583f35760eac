import { Type } from 'typebox'
import { Common, kind } from '../kind.ts'
import { Body, bodyPart, Footer, footerPart, interactive, ProductId } from '../parts.ts'

export const catalog = kind({
  name: 'catalog',
  type: 'interactive',
  interactiveType: 'catalog_message',
  body: Type.Object({
    ...Common,
    type: Type.Literal('interactive'),
    interactiveType: Type.Literal('catalog_message'),
    body: Body,
    footer: Footer,
    action: Type.Optional(Type.Object({ thumbnailProductRetailerId: Type.Optional(ProductId) })),
  }),
  forbidden: ['header'],
  build: ({ body, footer, action }) =>
    interactive({
      type: 'catalog_message',
      ...bodyPart(body),
      ...footerPart(footer),
      action: {
        name: 'catalog_message',
        ...(action?.thumbnailProductRetailerId !== undefined && {
          parameters: { thumbnail_product_retailer_id: action.thumbnailProductRetailerId },
        }),
      },
    }),
})
