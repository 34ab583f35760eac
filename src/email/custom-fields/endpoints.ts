import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { Choice, Id, IdInPath, NotBlank, Timestamp } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import * as rules from './custom-fields.ts'

export const CustomFieldSchema = Type.Object({
  _id: Id,
  name: Type.String(),
  key: Type.String(),
  type: Choice(rules.fieldKinds),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
const Name = NotBlank({ maxLength: 100 })
const Key = Type.String({
  // `__proto__` could never be set: bodies that hold it are refused.
  pattern: '^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,63}$',
  patternMessage: 'must have 1 to 64 letters, digits and underscores and not begin with a digit',
})

export const list = endpoint({
  summary: 'Custom fields that subscribers of this business can have',
  answer: envelope(Type.Object({ customFields: Type.Array(CustomFieldSchema) })),
  run: async ({ db, business }) => ok('Custom fields', { customFields: await rules.customFieldsOf(db, business.id) }),
})

export const create = endpoint({
  summary: 'Define a custom field',
  body: Type.Object({ name: Name, key: Key, type: Choice(rules.fieldKinds) }),
  answer: envelope(Type.Object({ customField: CustomFieldSchema })),
  run: async ({ db, business, body, created }) => {
    const { name, key, type } = body
    const customField = await rules.defineCustomField(db, business.id, { name, key, type }, await nowFor(db, business))
    created()
    return ok('Custom field defined', { customField })
  },
})

export const update = endpoint({
  summary: 'Rename a custom field',
  params: Type.Object({ id: IdInPath }),
  body: Type.Object({ name: Name }),
  answer: envelope(Type.Object({ customField: CustomFieldSchema })),
  run: async ({ db, business, params, body }) =>
    ok('Custom field renamed', {
      customField: await rules.renameCustomField(
        db,
        business.id,
        { id: params.id, name: body.name },
        await nowFor(db, business),
      ),
    }),
})

export const remove = endpoint({
  summary: 'Remove a custom field',
  params: Type.Object({ id: IdInPath }),
  answer: envelope(Type.Object({ customField: CustomFieldSchema })),
  run: async ({ db, business, params }) =>
    ok('Custom field removed', { customField: await rules.removeCustomField(db, business.id, params.id) }),
})
