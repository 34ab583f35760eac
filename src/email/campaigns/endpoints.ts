import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { pageCount, pageRequest } from '../../platform/page.ts'
import { IdInPath } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { inOneSnapshot } from '../subscribers/pages.ts'
import * as rules from './campaigns.ts'
import {
  CampaignChangesSchema,
  CampaignPageSchema,
  CampaignSchema,
  CampaignsQuerySchema,
  NewCampaignSchema,
  QueuedSchema,
  SendToIndividualSchema,
  SendToListSchema,
} from './schema.ts'
import { sendToIndividual as sendIndividual, sendToList as sendList } from './send.ts'

const InPath = Type.Object({ id: IdInPath })

export const create = endpoint({
  summary: 'Create a campaign',
  description:
    'An API / Workflow campaign is live at once. A Regular one is a draft, or scheduled with scheduledAt and lists.',
  body: NewCampaignSchema,
  answer: envelope(CampaignSchema),
  run: async ({ db, business, body, created }) => {
    const campaign = await rules.createCampaign(db, business, body)
    created()
    return ok('Campaign created', campaign)
  },
})

export const list = endpoint({
  summary: 'Campaigns, newest first',
  query: CampaignsQuerySchema,
  answer: envelope(CampaignPageSchema),
  run: async ({ db, business, query }) => {
    const page = pageRequest(query)
    const type = query.campaignType === 'all' ? undefined : query.campaignType
    const { total, campaigns } = await inOneSnapshot(db, tx => rules.pageOfCampaigns(tx, business.id, type, page))
    const totalPages = pageCount(total, page.limit)
    return ok('Campaigns', {
      campaigns,
      pagination: {
        page: page.page,
        limit: page.limit,
        totalCount: total,
        totalPages,
        hasNextPage: page.page < totalPages,
        hasPrevPage: page.page > 1,
      },
    })
  },
})

export const get = endpoint({
  summary: 'Get a campaign',
  params: InPath,
  answer: envelope(CampaignSchema),
  run: async ({ db, business, params }) => ok('Campaign', await rules.getCampaign(db, business.id, params.id)),
})

export const update = endpoint({
  summary: 'Change a campaign; what was sent already stays as it was',
  params: InPath,
  body: CampaignChangesSchema,
  answer: envelope(CampaignSchema),
  run: async ({ db, business, params, body }) =>
    ok('Campaign updated', await rules.updateCampaign(db, business, params.id, body)),
})

export const remove = endpoint({
  summary: 'Delete a campaign that is not live',
  params: InPath,
  answer: envelope(CampaignSchema),
  run: async ({ db, business, params }) => ok('Campaign deleted', await rules.removeCampaign(db, business, params.id)),
})

export const sendToIndividual = endpoint({
  summary: 'Send a live campaign to single addresses',
  body: SendToIndividualSchema,
  answer: envelope(QueuedSchema),
  run: async ({ platform, db, business, body }) =>
    ok('Campaign queued', await sendIndividual(platform, db, business, body)),
})

export const sendToList = endpoint({
  summary: 'Send a live campaign to lists and segments',
  body: SendToListSchema,
  answer: envelope(QueuedSchema),
  run: async ({ platform, db, business, body }) => ok('Campaign queued', await sendList(platform, db, business, body)),
})
