import { Type } from 'typebox'
import { IdInPath, Timestamp } from '../../platform/schema.ts'
import { Label } from '../fields.ts'

export const CategoryPath = Type.Object({ id: IdInPath })
export const CategoryFields = Type.Object({ name: Label })

export const CategorySchema = Type.Object({
  id: Type.String(),
  product_id: Type.String(),
  name: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
