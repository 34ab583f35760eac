import { type Static, type TSchema, Type } from 'typebox'
import { invalidField } from '../../platform/problem.ts'
import { ContactDetails, contactTexts, NumberText } from '../contacts/schema.ts'
import { bodyReader } from '../read-body.ts'
import type { Template } from '../templates/template.ts'

/** What every kind takes besides its own fields. */
export const Common = {
  to: NumberText,
  contact: Type.Optional(ContactDetails),
  replyTo: Type.Optional(
    Type.String({ minLength: 1, maxLength: 512, description: 'platform id of the message that is quoted' }),
  ),
}

export interface CommonBody {
  to: string | number
  contact?: Static<typeof ContactDetails>
  replyTo?: string
}

/** The part of the platform's payload that the kind decides: its type and the object of that name. */
export interface Content {
  type: string
  [part: string]: unknown
}

export interface Context {
  /** stored definition; present for template kinds */
  template: Template
  /** digits with dialing code, or empty for a person known by user id only */
  number: string
  now: Date
}

/** One kind of message: what it is called, when it applies, its body and its way to the platform's payload. */
export interface Kind {
  /** as the specification calls it */
  name: string
  type: string
  interactiveType?: string
  /** template kinds: whether this definition is one of this kind */
  fits?(template: Template): boolean
  schema: TSchema
  /** multi-product answers `success` instead of `status` */
  answersSuccess: boolean
  read(body: unknown): CommonBody
  build(body: CommonBody, context: Context): Content
}

interface Definition<T extends TSchema> {
  name: string
  type: string
  interactiveType?: string
  fits?(template: Template): boolean
  body: T
  /** fields the platform has no place for; sending them would lose what was meant */
  forbidden?: readonly string[]
  /** rules that span several fields; throws */
  check?(body: Static<T>): void
  build(body: Static<T>, context: Context): Content
  answersSuccess?: boolean
}

export function kind<T extends TSchema>(definition: Definition<T>): Kind {
  const { name, type, interactiveType, fits, body: schema, forbidden = [], check, build } = definition
  const read = bodyReader(schema, { jsonText: ['contact', 'quickReplies'], inside: { contact: contactTexts } })
  return {
    name,
    type,
    ...(interactiveType && { interactiveType }),
    ...(fits && { fits }),
    schema,
    answersSuccess: definition.answersSuccess ?? false,
    read(body) {
      const good = read(body)
      for (const field of forbidden)
        if ((good as Record<string, unknown>)[field] !== undefined)
          throw invalidField(field, `is not possible in a ${name} message`)
      check?.(good)
      return good as CommonBody
    },
    build: build as Kind['build'],
  }
}
