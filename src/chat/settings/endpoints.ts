import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import type { Platform } from '../../platform/platform.ts'
import { envelope, ok } from '../envelope.ts'
import { ChannelChangeSchema, ChannelSchema, NameBody } from './schema.ts'
import { addName, changeChannel, getSetting, removeName, type Setting, windowEnforced } from './settings.ts'
import * as store from './store.ts'

export const listTags = endpoint({
  summary: 'Tags that contacts may carry',
  answer: envelope(Type.Object({ tags: Type.Array(Type.String()), total: Type.Integer() })),
  run: async ({ db, business }) => {
    const tags = await store.names(db, 'chat_tag', business.id)
    return ok('Tags', { tags, total: tags.length })
  },
})

export const addTag = endpoint({
  summary: 'Add a tag',
  body: NameBody,
  answer: envelope(Type.Object({ name: Type.String() })),
  run: async ({ db, business, body }) =>
    ok('Tag created', { name: await addName(db, 'chat_tag', business.id, body.name) }),
})

export const removeTag = endpoint({
  summary: 'Remove a tag; contacts that carry it keep it',
  body: NameBody,
  answer: envelope(Type.Object({ name: Type.String() })),
  run: async ({ db, business, body }) =>
    ok('Tag deleted', { name: await removeName(db, 'chat_tag', business.id, body.name) }),
})

export const listAttributes = endpoint({
  summary: 'Custom fields that contacts may have',
  answer: envelope(Type.Object({ attributes: Type.Array(Type.String()), total: Type.Integer() })),
  run: async ({ db, business }) => {
    const attributes = await store.names(db, 'chat_attribute', business.id)
    return ok('Attributes', { attributes, total: attributes.length })
  },
})

export const addAttribute = endpoint({
  summary: 'Add a custom field',
  body: NameBody,
  answer: envelope(Type.Object({ name: Type.String() })),
  run: async ({ db, business, body }) =>
    ok('Attribute created', { name: await addName(db, 'chat_attribute', business.id, body.name) }),
})

export const removeAttribute = endpoint({
  summary: 'Remove a custom field; contacts that have a value keep it',
  body: NameBody,
  answer: envelope(Type.Object({ name: Type.String() })),
  run: async ({ db, business, body }) =>
    ok('Attribute deleted', { name: await removeName(db, 'chat_attribute', business.id, body.name) }),
})

export const getChannel = endpoint({
  summary: 'The channel messages go through',
  answer: envelope(ChannelSchema),
  run: async ({ db, business, platform }) => ok('Channel', shownChannel(platform, await getSetting(db, business.id))),
})

export const putChannel = endpoint({
  summary: 'Change the channel: the sandbox, or a real number on the platform',
  body: ChannelChangeSchema,
  answer: envelope(ChannelSchema),
  run: async ({ db, business, body, platform }) =>
    ok('Channel updated', shownChannel(platform, await changeChannel(platform, db, business.id, body))),
})

const shownChannel = (platform: Platform, setting: Setting) => ({
  settingId: setting.id,
  type: setting.type,
  baseUrl: setting.baseUrl,
  phoneNumberId: setting.phoneNumberId,
  businessAccountId: setting.businessAccountId,
  accessTokenSet: setting.accessToken !== null,
  appSecretSet: setting.appSecret !== null,
  verifyTokenSet: setting.verifyToken !== null,
  enforceWindow: windowEnforced(setting),
  messagesPerSecond: setting.messagesPerSecond,
  marketingEndpoint: setting.marketingEndpoint,
  halted: setting.halted as Record<string, unknown>,
  webhookUrl: `${platform.config.publicUrl}/chat/api/v1/webhook/${setting.id}`,
  createdAt: setting.createdAt,
  updatedAt: setting.updatedAt,
})
