import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { envelope, ok } from '../envelope.ts'
import { NewTemplateSchema, TemplateFilterSchema, TemplateSchema } from './schema.ts'
import { shownTemplate } from './shown.ts'
import * as store from './store.ts'
import { createTemplate, syncTemplates as fetchTemplates, getTemplate as findTemplate } from './templates.ts'

export const listTemplates = endpoint({
  summary: 'List templates',
  query: TemplateFilterSchema,
  answer: envelope(
    Type.Object({
      templates: Type.Array(TemplateSchema),
      total: Type.Integer(),
      page: Type.Integer(),
      limit: Type.Integer(),
    }),
  ),
  run: async ({ db, business, query }) => {
    const { page, limit, offset } = pageRequest(query, 25)
    const { templates, total } = await store.listTemplates(db, business.id, query, { offset, limit })
    return ok('Templates fetched', { templates: templates.map(shownTemplate), total, page, limit })
  },
})

export const getTemplate = endpoint({
  summary: 'Get a template by id or name',
  params: Type.Object({ idOrName: Type.String({ minLength: 1, maxLength: 512 }) }),
  answer: envelope(TemplateSchema),
  run: async ({ db, business, params }) =>
    ok('Template fetched', shownTemplate(await findTemplate(db, business.id, params.idOrName))),
})

export const addTemplate = endpoint({
  summary: 'Create a template; the platform reviews it, the sandbox approves it within seconds',
  body: NewTemplateSchema,
  answer: envelope(TemplateSchema),
  effects: 'outside',
  run: async ({ db, business, body, platform }) => {
    const now = await nowFor(db, business)
    return ok('Template created', shownTemplate(await createTemplate(platform, db, business, { draft: body, now })))
  },
})

export const syncTemplates = endpoint({
  summary: 'Fetch the templates from the platform',
  answer: envelope(Type.Object({ synced: Type.Integer() })),
  effects: 'outside',
  run: async ({ db, business, platform }) =>
    ok('Templates synced', await fetchTemplates(platform, db, business, await nowFor(db, business))),
})
