import { Type } from 'typebox'
import { Choice, IdInPath, Nullable, Timestamp } from '../../platform/schema.ts'
import { Amount, AmountShown, Flag, Label, LongText } from '../fields.ts'
import { AssociatePlans, PlansArray } from '../plans/associate.ts'

export const AddonPath = Type.Object({ addon_id: IdInPath })

const BillingPeriod = Choice(['m', 'y', 'w'])
const BillingCycle = Choice(['lifetime', 'onetime'])
const BillingPeriodNum = Type.Integer({ minimum: 1, maximum: 520, description: 'billing frequency' })
const Categories = Nullable(Type.Array(Label, { maxItems: 100 }))
const CurrencyCode = Type.String({ minLength: 3, maxLength: 3, description: 'ISO 4217; by default that of its plans' })

export const AddonFields = Type.Object({
  billing_period: BillingPeriod,
  billing_cycle: BillingCycle,
  status: Flag,
  associate_plans: AssociatePlans,
  billing_period_num: BillingPeriodNum,
  category_array: Type.Optional(Categories),
  code: Label,
  name: Label,
  price: Amount,
  plans_array: Type.Optional(PlansArray),
  description: Type.Optional(LongText),
  currency_code: Type.Optional(CurrencyCode),
})

export const AddonChanges = Type.Object({
  name: Type.Optional(Label),
  code: Type.Optional(Label),
  price: Type.Optional(Amount),
  category_array: Type.Optional(Categories),
  status: Type.Optional(Flag),
  associate_plans: Type.Optional(AssociatePlans),
  billing_cycle: Type.Optional(BillingCycle),
  billing_period: Type.Optional(BillingPeriod),
  billing_period_num: Type.Optional(BillingPeriodNum),
  description: Type.Optional(LongText),
  plans_array: Type.Optional(PlansArray),
  product_id: Type.Optional(IdInPath),
  currency_code: Type.Optional(CurrencyCode),
})

export const AddonSchema = Type.Object({
  id: Type.String(),
  product_id: Type.String(),
  user_id: Type.String(),
  name: Type.String(),
  code: Type.String(),
  price: AmountShown,
  currency_code: Type.String(),
  currency_symbol: Type.String(),
  billing_period: Type.String(),
  billing_period_num: Type.Integer(),
  billing_cycle: Type.String(),
  status: Type.Boolean(),
  associate_plans: Type.String(),
  plans_array: Nullable(Type.Array(Type.String())),
  category_array: Type.Array(Type.String()),
  description: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
