import { Type } from 'typebox'
import { Choice, Id, Timestamp } from '../../platform/schema.ts'

export const builderTypes = ['HTML', 'MJML', 'RICH_TEXT', 'DRAG_AND_DROP'] as const
export type BuilderType = (typeof builderTypes)[number]

/** Spec silent: larger mails are cut off by mailbox providers anyway. */
export const ContentText = Type.String({ minLength: 1, maxLength: 500_000 })
export const BuilderTypeSchema = Choice(builderTypes)

export const TemplateSchema = Type.Object({
  _id: Id,
  name: Type.String(),
  builderType: BuilderTypeSchema,
  content: Type.String({ description: 'as written' }),
  htmlContent: Type.String({ description: 'as mailed' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
