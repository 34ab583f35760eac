import { type TSchema, Type } from 'typebox'

/** Every answer of the email service. */
export const ok = <T>(message: string, data: T) => ({
  success: true as const,
  status: 'success' as const,
  message,
  data,
})

export const envelope = <T extends TSchema>(data: T) =>
  Type.Object({ success: Type.Literal(true), status: Type.Literal('success'), message: Type.String(), data })
