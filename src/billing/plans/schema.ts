import { Type } from 'typebox'
import { AnyObject, Choice, IdInPath, Timestamp } from '../../platform/schema.ts'
import { Amount, AmountShown, Flag, Label, LongText, ShortText, WholeOrText } from '../fields.ts'

export const planTypes = ['flat_fee', 'per_unit', 'donation', 'variable'] as const
export const billingPeriods = ['d', 'w', 'm', 'y'] as const
export const billingCycles = ['lifetime', 'specific', 'onetime'] as const
export const trialTypes = ['day', 'week', 'month'] as const

export const PlanPath = Type.Object({ plan_id: IdInPath })

const optionalFields = {
  price: Type.Optional(Amount),
  billing_period: Type.Optional(Choice(billingPeriods)),
  billing_period_num: Type.Optional(WholeOrText),
  billing_cycle: Type.Optional(Choice(billingCycles)),
  billing_cycle_num: Type.Optional(WholeOrText),
  plan_type: Type.Optional(Choice(planTypes)),
  plan_active: Type.Optional(Flag),
  currency_code: Type.Optional(Type.String({ minLength: 3, maxLength: 3, description: 'ISO 4217' })),
  setup_fee: Type.Optional(Amount),
  setup_fee_type: Type.Optional(ShortText),
  trial_period: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_650 })),
  trial_type: Type.Optional(Choice(trialTypes)),
  custom_payment_term: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_650, description: 'days' })),
  failed_payment_gateway: Type.Optional(ShortText),
  failed_payment_gateway_array: Type.Optional(Type.Array(ShortText, { maxItems: 100 })),
  funnel: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 100 })),
  is_metered: Type.Optional(Type.Boolean()),
  plan_description: Type.Optional(LongText),
  meta_data: Type.Optional(AnyObject),
}

export const PlanFields = Type.Object({
  ...optionalFields,
  product_id: IdInPath,
  plan_name: Label,
  plan_code: Label,
  price: Amount,
})
export const PlanChanges = Type.Object({
  ...optionalFields,
  product_id: Type.Optional(IdInPath),
  plan_name: Type.Optional(Label),
  plan_code: Type.Optional(Label),
})

export const PlanSchema = Type.Object({
  id: Type.String(),
  product_id: Type.String(),
  plan_name: Type.String(),
  plan_code: Type.String(),
  plan_type: Type.String(),
  plan_active: Type.String({ description: 'true or false, as text' }),
  price: AmountShown,
  currency_code: Type.String(),
  currency_symbol: Type.String(),
  billing_period: Type.String(),
  billing_period_num: Type.String(),
  billing_cycle: Type.String(),
  billing_cycle_num: Type.String({ description: 'empty unless billing_cycle is specific' }),
  trial_period: Type.Integer(),
  trial_type: Type.String(),
  setup_fee: AmountShown,
  setup_fee_type: Type.String(),
  custom_payment_term: Type.Integer(),
  failed_payment_gateway: Type.String(),
  failed_payment_gateway_array: Type.Array(Type.String()),
  funnel: Type.Array(Type.Unknown()),
  is_metered: Type.Boolean(),
  plan_description: Type.String(),
  meta_data: AnyObject,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
