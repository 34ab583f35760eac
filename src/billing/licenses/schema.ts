import { type Static, Type } from 'typebox'
import { Choice, IdInPath, Nullable, PageQuery, Timestamp } from '../../platform/schema.ts'
import { Label } from '../fields.ts'

export const LicensePath = Type.Object({ product_id: IdInPath, license_id: IdInPath })
export const CodePath = Type.Object({
  product_id: IdInPath,
  license_id: IdInPath,
  code: Type.String({ minLength: 1, maxLength: 1_000 }),
})
export const CodesQuery = Type.Object({ ...PageQuery, is_used: Type.Optional(Choice(['yes', 'no'])) })

const Codes = Type.Unsafe<string[] | string>({
  type: ['array', 'string'],
  items: { type: 'string', maxLength: 255 },
  maxItems: 100_000,
  description: 'codes, one a line or as an array',
})
const Pattern = Type.String({
  maxLength: 64,
  pattern: '^[A-Z0-9-]*$',
  patternMessage: 'must be capital letters, digits and dashes',
  description: 'of method auto: each X becomes a random character; at least 8 of them',
})

export const LicenseChanges = Type.Object({
  name: Type.Optional(Label),
  method: Type.Optional(
    Choice(['list', 'auto'], { description: 'list: codes you give; auto: codes made by the pattern' }),
  ),
  status: Type.Optional(Choice(['active', 'inactive'])),
  license_codes: Type.Optional(Codes),
  plan_id: Type.Optional(Nullable(Type.String({ maxLength: 100, description: 'empty: every plan of the product' }))),
  pattern: Type.Optional(Pattern),
  quantity: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10_000, description: 'how many codes to make now, for auto' }),
  ),
})
export type LicenseChanges = Static<typeof LicenseChanges>
export const LicenseFields = Type.Object({ ...LicenseChanges.properties, name: Label })
export type LicenseFields = Static<typeof LicenseFields>

export const LicenseSchema = Type.Object({
  id: Type.String(),
  product_id: Type.String(),
  name: Type.String(),
  method: Type.String(),
  pattern: Type.String({ description: 'of method auto; else empty' }),
  status: Type.String(),
  total_license: Type.Integer(),
  used_license: Type.Integer(),
  license_codes: Type.Array(Type.Object({ code: Type.String(), is_used: Type.String() }), {
    description: 'the first 1,000; all of them are at /codes',
  }),
  plan_id: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const CodeSchema = Type.Object({
  code: Type.String(),
  is_used: Type.String({ description: 'yes or no' }),
  subscription_id: Type.String({ description: 'empty until it is sold' }),
  assignedAt: Nullable(Timestamp),
  createdAt: Timestamp,
})
