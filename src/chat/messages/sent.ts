import { type Static, Type } from 'typebox'
import { conflict, outcomeUnknown, type Problem, unprocessable } from '../../platform/problem.ts'
import { Id } from '../../platform/schema.ts'
import type { PlatformAnswer } from '../channel/channel.ts'
import { describeError } from '../channel/errors.ts'
import type { MessageError, MessageRow } from './store.ts'

export const SentSchema = Type.Object({
  to: Type.String(),
  chatId: Id,
  platformResponse: Type.Object({
    messaging_product: Type.String(),
    contacts: Type.Array(Type.Object({ input: Type.String(), channel_id: Type.String() })),
    messages: Type.Array(Type.Object({ id: Type.String(), message_status: Type.Optional(Type.String()) })),
    status: Type.Integer(),
  }),
})

/** What a send answers: who it went to, the conversation, and the platform's answer with neutral names. */
export type Sent = Static<typeof SentSchema>

export function sentResult(
  message: { recipient: string; conversationId: string; payload: object },
  answer: PlatformAnswer,
): Sent {
  const { to, recipient } = message.payload as { to?: string; recipient?: string }
  const input = to ?? recipient ?? message.recipient
  const contacts = Array.isArray(answer.contacts) && answer.contacts.length > 0 ? answer.contacts : [{ input }]
  return {
    to: message.recipient,
    chatId: message.conversationId,
    platformResponse: {
      messaging_product: String(answer.messaging_product ?? 'whatsapp'),
      contacts: contacts.map(contact => ({
        input: String(contact.input ?? input),
        channel_id: String(contact.wa_id ?? contact.user_id ?? message.recipient),
      })),
      messages: answer.messages.map(({ id, message_status }) => ({
        id: String(id),
        ...(message_status !== undefined && { message_status: String(message_status) }),
      })),
      status: answer.status,
    },
  }
}

/** The answer to a repeated request: what became of the message that the first one wrote. It is never sent again. */
export function answerFromRow(message: MessageRow): Sent {
  if (message.status === 'failed') throw rejected(message.error ?? { code: 0, title: 'Failed', details: '' })
  if (message.platformAnswer) return sentResult(message, message.platformAnswer as unknown as PlatformAnswer)
  if (message.platformId)
    return sentResult(message, {
      messaging_product: 'whatsapp',
      contacts: [],
      messages: [{ id: message.platformId }],
      status: 200,
    })
  if (message.status === 'sending')
    throw conflict('message_in_flight', 'This message is being sent right now. Ask again in a moment.')
  throw unknownOutcome(message.id)
}

export const unknownOutcome = (id: string): Problem =>
  outcomeUnknown(
    'message_outcome_unknown',
    `The platform did not say what became of the message. It is kept as unknown (message ${id}) until the platform reports it, and is not sent again by itself.`,
  )

export const rejected = ({ code, title, details }: MessageError): Problem =>
  unprocessable(
    'channel_rejected',
    `The platform refused the message: ${describeError({ code: Number(code), title, details })}.`,
    [
      { field: 'platform.code', message: String(code) },
      { field: 'platform.title', message: title },
      { field: 'platform.details', message: details },
    ],
  )
