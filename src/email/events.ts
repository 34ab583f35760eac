import { Type } from 'typebox'
import type { EventType } from '../platform/events.ts'
import { CampaignSchema } from './campaigns/schema.ts'
import { ListSchema } from './lists/schema.ts'
import { SegmentSchema } from './segments/endpoints.ts'
import { SubscriberSchema } from './subscribers/schema.ts'

const id = '665f1c2ab7e4d90012ab34cd'
const at = '2026-06-04T10:15:30.000Z'
const subscriber = {
  _id: id,
  userId: '665f1c2ab7e4d90012ab34c0',
  businessId: '665f1c2ab7e4d90012ab34c1',
  email: 'ann.lee@example.com',
  firstName: 'Ann',
  lastName: 'Lee',
  mobile: '',
  leadScore: 15,
  dateOfBirth: null,
  status: 'subscribed',
  country: 'Not Specified',
  city: 'Not Specified',
  tags: ['vip'],
  source: 'api',
  segments: [],
  customFields: { company: 'Acme' },
  activity: [],
  automationWorkflows: [],
  lists: ['Newsletter'],
  totalSent: 0,
  totalDelivered: 0,
  totalOpens: 0,
  totalUniqueOpens: 0,
  totalUniqueClick: 0,
  totalClicks: 0,
  deleteAfter: null,
  suppressionDetail: { type: '', reason: '', createdAt: at, updatedAt: at },
  isSuppressed: false,
  campaignDetails: [],
  createdAt: at,
  updatedAt: at,
}
const list = {
  id,
  name: 'Newsletter',
  count: 0,
  counts: { totalSubscribers: 0, unsubscribedCount: 0, engagedCount: 0, lastUpdated: at },
  createdAt: at,
  updatedAt: at,
}
const segment = {
  id,
  name: 'Hot leads',
  rules: { match: 'all', conditions: [{ field: 'leadScore', operator: 'gte', value: 50 }] },
  count: 12,
  createdAt: at,
  updatedAt: at,
}
const { templateId: _, ...campaignFields } = CampaignSchema.properties
const ToldCampaign = Type.Object({
  ...campaignFields,
  templateId: Type.Object({ _id: Type.String(), name: Type.String(), builderType: Type.String() }),
})
const campaign = {
  _id: id,
  campaignDetails: {
    campaignType: 'API / Workflow Campaign',
    campaignName: 'Welcome',
    senderName: 'Acme',
    subject: 'Welcome, {{ firstName }}',
    preheaderText: '',
  },
  status: 'live',
  templateId: { _id: id, name: 'Welcome', builderType: 'HTML' },
  scheduledAt: null,
  createdAt: at,
  updatedAt: at,
}
const Told = Type.Object({
  _id: Type.String(),
  email: Type.String(),
  status: Type.String(),
  reason: Type.String(),
  campaignId: Type.String(),
})
const told = (status: string, reason: string) => ({ _id: id, email: subscriber.email, status, reason, campaignId: id })

const of = (type: string, summary: string, data: EventType['data'], example: object): EventType => ({
  type,
  summary,
  data,
  example,
})

/** What the API tells the outside, in the words of its answers. */
export const apiEventTypes: readonly EventType[] = [
  of('subscriber_create', 'A subscriber was created', SubscriberSchema, subscriber),
  of('subscriber_update', 'A subscriber was changed, or joined or left lists', SubscriberSchema, subscriber),
  of(
    'subscriber_delete',
    'A subscriber was deleted',
    Type.Object({ _id: Type.String(), email: Type.String(), deleteAfter: Type.String() }),
    { _id: id, email: subscriber.email, deleteAfter: at },
  ),
  of(
    'subscriber_unsubscribe',
    'A subscriber unsubscribed, by mail or through the API',
    Type.Object({ _id: Type.String(), email: Type.String(), status: Type.String() }),
    told('unsubscribed', 'Unsubscribed by one click'),
  ),
  of(
    'subscriber_bounce',
    'The address of a subscriber does not exist; it is suppressed',
    Told,
    told('bounced', '550 5.1.1 no such user'),
  ),
  of(
    'subscriber_complaint',
    'A subscriber called a mail spam; the address is suppressed',
    Told,
    told('complaint', 'Feedback report'),
  ),
  of('list_create', 'A list was created', ListSchema, list),
  of('list_update', 'A list was renamed', ListSchema, list),
  of('list_delete', 'A list was deleted, with the counts it had; its members stay', ListSchema, list),
  of('segment_create', 'A segment was created', SegmentSchema, segment),
  of('segment_update', 'A segment was changed', SegmentSchema, segment),
  of('segment_delete', 'A segment was deleted', SegmentSchema, segment),
  of('campaign_create', 'A campaign was created', ToldCampaign, campaign),
  of('campaign_update', 'A campaign was changed', ToldCampaign, campaign),
  of('campaign_delete', 'A campaign was deleted', ToldCampaign, { ...campaign, status: 'draft' }),
  of('campaign_launch', 'The time of a scheduled campaign came; it is going out', ToldCampaign, campaign),
  of('campaign_missed', 'A scheduled campaign is a day late and went back to draft', ToldCampaign, {
    ...campaign,
    status: 'draft',
  }),
  of(
    'import_finish',
    'An import is done',
    Type.Object({
      id: Type.String(),
      rows: Type.Integer(),
      created: Type.Integer(),
      updated: Type.Integer(),
      refused: Type.Integer(),
    }),
    { id, rows: 1000, created: 900, updated: 90, refused: 10 },
  ),
]
