import { type TSchema, Type } from 'typebox'

/** Answers of the chat service. */
export const ok = <T>(message: string, data: T) => ({ status: 'success' as const, message, data })

export const envelope = <T extends TSchema>(data: T) =>
  Type.Object({ status: Type.Literal('success'), message: Type.String(), data })
