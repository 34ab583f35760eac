import { type Static, Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { AnyObject, Id, IdInPath, Timestamp } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { NameSchema } from '../lists/schema.ts'
import { inOneSnapshot } from '../subscribers/pages.ts'
import { operators } from './rules.ts'
import * as rules from './segments.ts'

export const SegmentSchema = Type.Object({
  id: Id,
  name: Type.String(),
  rules: AnyObject,
  count: Type.Integer(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const RulesText = Type.Unsafe<unknown>({
  type: 'object',
  description: `{ match: all | any | none, conditions: [ { field, operator, value } or a nested group ] }; operators: ${operators.join(', ')}`,
})
const InPath = Type.Object({ id: IdInPath })
const show = (segment: rules.CountedSegment) => segment as unknown as Static<typeof SegmentSchema>

export const create = endpoint({
  summary: 'Create a segment: a rule that says who belongs to it, always current',
  body: Type.Object({ name: NameSchema, rules: RulesText }),
  answer: envelope(Type.Object({ segment: SegmentSchema })),
  run: async ({ db, business, body, created }) => {
    const segment = await rules.createSegment(db, business, body)
    created()
    return ok('Segment created', { segment: show(segment) })
  },
})

export const list = endpoint({
  summary: 'All segments with their counts',
  answer: envelope(Type.Object({ segments: Type.Array(SegmentSchema) })),
  run: ({ db, business }) =>
    inOneSnapshot(db, async tx => ok('Segments', { segments: (await rules.countedSegments(tx, business)).map(show) })),
})

export const get = endpoint({
  summary: 'Get a segment',
  params: InPath,
  answer: envelope(Type.Object({ segment: SegmentSchema })),
  run: ({ db, business, params }) =>
    inOneSnapshot(db, async tx => ok('Segment', { segment: show(await rules.getSegment(tx, business, params.id)) })),
})

export const update = endpoint({
  summary: 'Change a segment',
  params: InPath,
  body: Type.Object({ name: Type.Optional(NameSchema), rules: Type.Optional(RulesText) }),
  answer: envelope(Type.Object({ segment: SegmentSchema })),
  run: async ({ db, business, params, body }) =>
    ok('Segment updated', { segment: show(await rules.updateSegment(db, business, params.id, body)) }),
})

export const remove = endpoint({
  summary: 'Delete a segment; nobody is deleted with it',
  params: InPath,
  answer: envelope(Type.Object({ segment: SegmentSchema })),
  run: async ({ db, business, params }) =>
    ok('Segment deleted', { segment: show(await rules.removeSegment(db, business, params.id)) }),
})
