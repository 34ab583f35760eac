import { endpoint } from '../../platform/endpoint.ts'
import { pageRequest } from '../../platform/page.ts'
import { envelope, ok, okPage, pageEnvelope } from '../envelope.ts'
import * as multiplans from './multiplans.ts'
import {
  MultiplanChanges,
  MultiplanFields,
  MultiplanIdPath,
  MultiplanPath,
  MultiplanQuery,
  MultiplanSchema,
} from './schema.ts'

export const create = endpoint({
  summary: 'Create multiplan',
  description: 'A checkout page that offers several plans of one product; its address is checkout_page.',
  body: MultiplanFields,
  answer: envelope(MultiplanSchema),
  run: async ({ db, business, body, platform: { config } }) => {
    const made = await multiplans.createMultiplan(db, business, body, config.publicUrl)
    return ok('Multiplan created', multiplans.showMultiplan(made, config.publicUrl))
  },
})

export const get = endpoint({
  summary: 'One multiplan',
  params: MultiplanPath,
  answer: envelope(MultiplanSchema),
  run: async ({ db, business, params, platform: { config } }) => {
    const found = await multiplans.getMultiplan(db, business.id, params.multiplan_id)
    return ok('Multiplan', multiplans.showMultiplan(found, config.publicUrl))
  },
})

export const list = endpoint({
  summary: 'All multiplans, or those of one product, newest first',
  query: MultiplanQuery,
  answer: pageEnvelope(MultiplanSchema),
  run: async ({ db, business, query, platform: { config } }) => {
    const page = pageRequest(query)
    const { rows, total } = await multiplans.pageOfMultiplans(db, business.id, query.product_id, page)
    const shown = rows.map(row => multiplans.showMultiplan(row, config.publicUrl))
    return okPage('Multiplans', shown, page, total)
  },
})

export const update = endpoint({
  summary: 'Update multiplan',
  params: MultiplanIdPath,
  body: MultiplanChanges,
  answer: envelope(MultiplanSchema),
  run: async ({ db, business, params, body, platform: { config } }) => {
    const changed = await multiplans.updateMultiplan(db, business, params.id, body, config.publicUrl)
    return ok('Multiplan updated', multiplans.showMultiplan(changed, config.publicUrl))
  },
})

export const remove = endpoint({
  summary: 'Delete multiplan',
  description: 'Its page says from then on that it is gone. Answers the deleted multiplan.',
  params: MultiplanIdPath,
  answer: envelope(MultiplanSchema),
  run: async ({ db, business, params, platform: { config } }) => {
    const gone = await multiplans.deleteMultiplan(db, business, params.id, config.publicUrl)
    return ok('Multiplan deleted', multiplans.showMultiplan(gone, config.publicUrl))
  },
})
