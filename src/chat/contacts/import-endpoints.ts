import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { endpoint } from '../../platform/endpoint.ts'
import { Problem } from '../../platform/problem.ts'
import { Choice } from '../../platform/schema.ts'
import { byKey } from '../by-key.ts'
import { envelope, ok } from '../envelope.ts'
import { importContacts } from './import.ts'

const Names = Type.Optional(Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 100 }))
const splitNames = (texts: readonly string[] = []) =>
  texts.flatMap(text => text.split(',').map(part => part.trim())).filter(name => name !== '')

export const importCsv = endpoint({
  summary: 'Import contacts from a CSV file',
  description:
    'Send the file as the body, with Content-Type text/csv. The first line names the columns: mobile (needed), name, tags, list, optin, incomingBlocked, and custom fields by their names. Several tags or lists in a cell are separated by commas, semicolons or bars. Everyone also gets the tags and lists of the query. Rows are refused one by one, by the rules of POST /contacts; the first 1,000 are named. Contacts keep what the file leaves empty.',
  query: Type.Object({
    onDuplicate: Type.Optional(Choice(['skip', 'overwrite', 'error'])),
    list: Names,
    tags: Names,
  }),
  accepts: 'stream',
  answer: envelope(
    Type.Object({
      rows: Type.Integer(),
      created: Type.Integer(),
      updated: Type.Integer(),
      skipped: Type.Integer(),
      refused: Type.Integer(),
      ignoredColumns: Type.Array(Type.String()),
      refusals: Type.Array(Type.Object({ line: Type.Integer(), mobile: Type.String(), error: Type.String() })),
    }),
  ),
  run: async ({ platform, business, query, body }) => {
    if (!(body instanceof Readable))
      throw new Problem(415, 'unsupported_media_type', 'Send the file as the body, with Content-Type: text/csv.')
    const options = {
      onDuplicate: query.onDuplicate ?? ('skip' as const),
      list: splitNames(query.list),
      tags: splitNames(query.tags),
    }
    return ok('Contacts imported', await importContacts(byKey(platform), business, body, options))
  },
})
