import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { fail, notFound } from '../../platform/problem.ts'
import { IdInPath } from '../../platform/schema.ts'
import { NumberText } from '../contacts/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { kinds } from './choose-kind.ts'
import { sendMessage as send } from './send.ts'
import { SentSchema } from './sent.ts'
import { MessageSchema, shownMessage } from './shown.ts'
import * as store from './store.ts'

const kindNames = kinds.map(kind =>
  kind.interactiveType ? `${kind.name} (interactiveType ${kind.interactiveType})` : kind.name,
)

/** Multi-product answers `success`, every other kind `status`. */
export const SentAnswer = Type.Object({
  status: Type.Optional(Type.Literal('success')),
  success: Type.Optional(Type.Boolean()),
  message: Type.String(),
  data: SentSchema,
})

export const answersSuccess = (body: Record<string, unknown>) =>
  body.type === 'interactive' && (body.interactiveType ?? 'product_list') === 'product_list'

export const sendMessage = endpoint({
  summary: 'Send a message of any kind',
  description: `The kind is chosen by type, then interactiveType, then the stored definition of templateName. Kinds: ${kindNames.join(', ')}.`,
  body: Type.Object({
    to: NumberText,
    type: Type.String({ description: 'text, image, audio, video, document, interactive or template' }),
    interactiveType: Type.Optional(Type.String()),
    templateName: Type.Optional(Type.String()),
  }),
  bodies: kinds.map(({ name, schema }) => ({ title: name, schema })),
  answer: SentAnswer,
  effects: 'outside',
  run: async ({ platform, db, business, body, idempotencyKey }) => {
    const data = await send(platform, db, business, { body, idempotencyKey })
    const message = 'Message sent'
    return answersSuccess(body) ? { success: true, message, data } : { status: 'success' as const, message, data }
  },
})

export const getMessage = endpoint({
  summary: 'Get a message by id',
  params: Type.Object({ id: IdInPath }),
  answer: envelope(MessageSchema),
  run: async ({ db, business, params }) =>
    ok(
      'Message fetched',
      shownMessage((await store.messageById(db, business.id, params.id)) ?? fail(notFound('Message'))),
    ),
})
