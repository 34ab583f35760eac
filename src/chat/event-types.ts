import { type TSchema, Type } from 'typebox'
import type { EventType } from '../platform/events.ts'
import { Id } from '../platform/schema.ts'
import { BroadcastSchema } from './broadcasts/schema.ts'
import { ContactSchema } from './contacts/schema.ts'
import { MediaSchema } from './media/shown.ts'
import { MessageSchema } from './messages/shown.ts'
import { TemplateSchema } from './templates/schema.ts'

const at = '2026-11-15T09:30:00.000Z'
const contact = {
  _id: '6917f0c2a4b1c2d3e4f50001',
  name: 'Asha Rao',
  settingId: '6917f0c2a4b1c2d3e4f50002',
  userId: '6917f0c2a4b1c2d3e4f50003',
  countryCode: '91',
  mobile: '919876543210',
  status: 'active',
  source: 'api',
  optin: true,
  attributes: [{ name: 'city', value: 'Pune', _id: '6917f0c2a4b1c2d3e4f50004' }],
  incomingBlocked: false,
  broadcastIds: [],
  list: ['Customers'],
  tags: ['vip'],
  __v: 0,
  createdAt: at,
  updatedAt: at,
}
const message = (status: string, more: object = {}) => ({
  _id: '6917f0c2a4b1c2d3e4f50005',
  chatId: contact._id,
  direction: 'out',
  kind: 'text',
  status,
  to: contact.mobile,
  platformId: 'wamid.HBgMOTE5ODc2NTQzMjEw',
  content: { type: 'text', text: { body: 'Your order is on its way.' } },
  error: null,
  pricing: null,
  broadcastId: null,
  mediaId: null,
  blocked: false,
  seen: false,
  createdAt: at,
  updatedAt: at,
  acceptedAt: at,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  failedAt: null,
  ...more,
})
const template = {
  _id: '6917f0c2a4b1c2d3e4f50006',
  id: '700000000000001',
  name: 'order_update',
  language: 'en_US',
  category: 'UTILITY',
  status: 'APPROVED',
  parameter_format: 'POSITIONAL',
  components: [{ type: 'BODY', text: 'Hi {{1}}, your order is on its way.' }],
  quality: 'UNKNOWN',
  rejected_reason: '',
  version: 1,
  createdAt: at,
  updatedAt: at,
}
const broadcast = {
  _id: '6917f0c2a4b1c2d3e4f50007',
  name: 'Spring',
  templateName: 'spring_offer',
  languageCode: 'en_US',
  lists: ['Customers'],
  tags: [],
  parameters: { bodyParams: ['{{name|friend}}'] },
  status: 'finished',
  pauseReason: '',
  report: {
    audience: 2,
    skipped: 1,
    queued: 0,
    accepted: 2,
    sent: 0,
    delivered: 0,
    read: 0,
    failed: 0,
    unknown: 0,
    cancelled: 0,
  },
  scheduledAt: null,
  startedAt: at,
  createdAt: at,
  updatedAt: at,
  finishedAt: at,
}

const tells = (type: string, summary: string, data: TSchema, example: object): EventType => ({
  type,
  summary,
  data,
  example,
})

/** What the chat service tells the outside. */
export const chatEventTypes: readonly EventType[] = [
  tells('contact_create', 'A contact was made', ContactSchema, contact),
  tells('contact_update', 'A contact changed', ContactSchema, { ...contact, __v: 1 }),
  tells('contact_delete', 'A contact was deleted, with everything kept about the person', ContactSchema, contact),
  tells(
    'contact_merge',
    'Two contacts turned out to be one person; mergedId is gone',
    Type.Object({ _id: Id, mergedId: Id }),
    { _id: contact._id, mergedId: '6917f0c2a4b1c2d3e4f50008' },
  ),
  tells('message_sent', 'The platform sent the message', MessageSchema, message('sent', { sentAt: at })),
  tells('message_delivered', 'The message reached the phone', MessageSchema, message('delivered', { deliveredAt: at })),
  tells('message_read', 'The person read the message', MessageSchema, message('read', { readAt: at })),
  tells(
    'message_failed',
    'The message was refused or could not be delivered',
    MessageSchema,
    message('failed', {
      failedAt: at,
      error: { code: 131026, title: 'Message undeliverable', details: 'Message undeliverable' },
    }),
  ),
  tells(
    'message_unknown',
    'The answer of the platform got lost; a later event says what became of it',
    MessageSchema,
    message('unknown', { platformId: null, acceptedAt: null }),
  ),
  tells(
    'message_received',
    'A person wrote',
    MessageSchema,
    message('received', { direction: 'in', acceptedAt: null, content: { type: 'text', text: { body: 'Thank you!' } } }),
  ),
  tells('media_received', 'The file of a message that a person sent is here', MediaSchema, {
    _id: '6917f0c2a4b1c2d3e4f50008',
    direction: 'in',
    kind: 'image',
    status: 'stored',
    mimeType: 'image/jpeg',
    filename: '',
    size: 48_211,
    sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    messageId: '6917f0c2a4b1c2d3e4f50005',
    error: '',
    createdAt: at,
    updatedAt: at,
  }),
  tells('template_status', 'The platform changed the state of a template', TemplateSchema, template),
  tells('broadcast_finished', 'Every message of a broadcast has an outcome', BroadcastSchema, broadcast),
  tells(
    'channel_halted',
    'The platform stopped something; sending waits until the channel settings are saved again',
    Type.Object({ scope: Type.String(), code: Type.Integer(), title: Type.String(), at: Type.String() }),
    { scope: 'number', code: 190, title: 'Access token has expired', at },
  ),
  tells(
    'channel_update',
    'The platform told something about the account that needs no act of ours',
    Type.Object({ field: Type.String(), value: Type.Unknown() }),
    { field: 'account_update', value: { event: 'VERIFIED_ACCOUNT' } },
  ),
]
