import { Type } from 'typebox'
import { AnyObject, Choice, Id, PageQuery, Timestamp } from '../../platform/schema.ts'

export const categories = ['MARKETING', 'UTILITY', 'AUTHENTICATION'] as const
export const templateStates = [
  'PENDING',
  'APPROVED',
  'REJECTED',
  'PAUSED',
  'DISABLED',
  'IN_APPEAL',
  'PENDING_DELETION',
  'DELETED',
  'FLAGGED',
  'LIMIT_EXCEEDED',
  'LOCKED',
  'ARCHIVED',
] as const

/** The platform's template object, with our id beside its own. */
export const TemplateSchema = Type.Object({
  _id: Id,
  id: Type.String({ description: 'the id on the platform' }),
  name: Type.String(),
  language: Type.String(),
  category: Type.String(),
  status: Type.String({ description: templateStates.join(', ') }),
  parameter_format: Type.String(),
  components: Type.Array(AnyObject),
  quality: Type.String(),
  rejected_reason: Type.String(),
  version: Type.Integer(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const NewTemplateSchema = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: 512,
    pattern: '^[a-z0-9_]*$',
    patternMessage: 'must consist of lower-case letters, digits and _',
  }),
  language: Type.String({ pattern: '^[a-z]{2,3}(_[A-Za-z]{2,4})?$', patternMessage: 'must be a code such as en_US' }),
  category: Choice(categories),
  parameter_format: Type.Optional(Choice(['POSITIONAL', 'NAMED'])),
  message_send_ttl_seconds: Type.Optional(
    Type.Integer({ description: 'how long the platform tries to deliver; -1 for 30 days' }),
  ),
  components: Type.Array(
    Type.Object({
      type: Type.String({ minLength: 1, maxLength: 50 }),
      format: Type.Optional(Type.String({ maxLength: 50 })),
      text: Type.Optional(Type.String({ maxLength: 5000 })),
      buttons: Type.Optional(
        Type.Array(
          Type.Object({
            type: Type.String({ minLength: 1, maxLength: 50 }),
            text: Type.Optional(Type.String({ maxLength: 500 })),
            url: Type.Optional(Type.String({ maxLength: 5000 })),
          }),
          { maxItems: 100 },
        ),
      ),
      cards: Type.Optional(
        Type.Array(
          Type.Object({
            components: Type.Array(
              Type.Object({
                type: Type.String({ minLength: 1, maxLength: 50 }),
                format: Type.Optional(Type.String({ maxLength: 50 })),
                text: Type.Optional(Type.String({ maxLength: 5000 })),
                buttons: Type.Optional(
                  Type.Array(Type.Object({ type: Type.String({ minLength: 1, maxLength: 50 }) }), { maxItems: 100 }),
                ),
              }),
              { maxItems: 20 },
            ),
          }),
          { maxItems: 50 },
        ),
      ),
      limited_time_offer: Type.Optional(
        Type.Object({
          text: Type.Optional(Type.String({ maxLength: 500 })),
          has_expiration: Type.Optional(Type.Boolean()),
        }),
      ),
    }),
    { minItems: 1, maxItems: 20 },
  ),
})

export const TemplateFilterSchema = Type.Object({
  ...PageQuery,
  status: Type.Optional(Type.String({ maxLength: 50 })),
  category: Type.Optional(Type.String({ maxLength: 50 })),
  language: Type.Optional(Type.String({ maxLength: 35 })),
  name: Type.Optional(Type.String({ maxLength: 512 })),
})
