import { Type } from 'typebox'
import { Id, Timestamp } from '../../platform/schema.ts'
import { AttributeSchema } from '../contacts/schema.ts'
import { Name } from '../settings/schema.ts'

export const ListSchema = Type.Object({
  _id: Id,
  name: Type.String(),
  createdAt: Timestamp,
  incomingBlocked: Type.Boolean(),
  tags: Type.Array(Type.String()),
  optin: Type.Boolean(),
  attributes: Type.Array(AttributeSchema),
})

export const NewListSchema = Type.Object({ name: Name })
