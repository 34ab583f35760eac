import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { IdInPath, NotBlank, PageQuery } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { pagination } from '../lists/endpoints.ts'
import { PaginationSchema } from '../lists/schema.ts'
import { BuilderTypeSchema, ContentText, TemplateSchema } from './schema.ts'
import * as store from './store.ts'
import * as rules from './templates.ts'

const Name = NotBlank({ maxLength: 200 })
const InPath = Type.Object({ id: IdInPath })

export const create = endpoint({
  summary: 'Create a template',
  body: Type.Object({ name: Name, builderType: Type.Optional(BuilderTypeSchema), content: ContentText }),
  answer: envelope(Type.Object({ template: TemplateSchema })),
  run: async ({ db, business, body, created }) => {
    const { name, builderType = 'HTML', content } = body
    const template = await rules.createTemplate(db, business, { name, builderType, content })
    created()
    return ok('Template created', { template })
  },
})

export const list = endpoint({
  summary: 'Templates',
  query: Type.Object(PageQuery),
  answer: envelope(Type.Object({ templates: Type.Array(TemplateSchema), pagination: PaginationSchema })),
  run: async ({ db, business, query }) => {
    const page = pageRequest(query)
    const total = await store.count(db, business.id)
    const templates = page.offset >= total ? [] : await store.page(db, business.id, page)
    return ok('Templates', { templates, pagination: pagination(page, total) })
  },
})

export const get = endpoint({
  summary: 'Get a template',
  params: InPath,
  answer: envelope(Type.Object({ template: TemplateSchema })),
  run: async ({ db, business, params }) =>
    ok('Template', { template: await rules.getTemplate(db, business.id, params.id) }),
})

export const update = endpoint({
  summary: 'Change a template; campaigns that use it follow from their next send on',
  params: InPath,
  body: Type.Object({
    name: Type.Optional(Name),
    builderType: Type.Optional(BuilderTypeSchema),
    content: Type.Optional(ContentText),
  }),
  answer: envelope(Type.Object({ template: TemplateSchema })),
  run: async ({ db, business, params, body }) =>
    ok('Template updated', { template: await rules.updateTemplate(db, business, params.id, body) }),
})

export const remove = endpoint({
  summary: 'Delete a template that no campaign uses',
  params: InPath,
  answer: envelope(Type.Object({ template: TemplateSchema })),
  run: async ({ db, business, params }) =>
    ok('Template deleted', { template: await rules.removeTemplate(db, business.id, params.id) }),
})
