import { Type } from 'typebox'
import { badRequest, invalidField } from '../../platform/problem.ts'

/** Limits of the platform, in Unicode characters. */
export const limits = {
  text: 4096,
  caption: 1024,
  filename: 240,
  header: 60,
  body: 1024,
  listBody: 4096,
  footer: 60,
  label: 20,
  sectionTitle: 24,
  sections: 10,
  listRows: 10,
  products: 30,
  replyButtons: 3,
  replyId: 256,
  rowId: 200,
  rowTitle: 24,
  rowDescription: 72,
  url: 2000,
} as const

export const Text = (max: number) => Type.String({ minLength: 1, maxLength: max })
export const Link = Type.String({
  minLength: 1,
  maxLength: limits.url,
  pattern: '^https?://[^\\s/?#]+\\S*$',
  patternMessage: 'must be a URL that begins with http:// or https://',
})
export const Body = Text(limits.body)
export const Footer = Type.Optional(Text(limits.footer))
export const HeaderText = Text(limits.header)
export const CatalogId = Text(256)
export const ProductId = Text(256)
export const MediaId = Type.String({
  pattern: '^(\\d{1,40}|[0-9a-f]{24})$',
  patternMessage: 'must be the _id of POST /media, or the digits of a media id of the platform',
})

export interface MediaHeader {
  type: 'image' | 'video' | 'document'
  link: string
}

/** Text, or a picture, film or file by its link. */
export const Header = Type.Optional(
  Type.Unsafe<string | MediaHeader>({
    anyOf: [
      { type: 'string', minLength: 1, maxLength: limits.header },
      {
        type: 'object',
        required: ['type', 'link'],
        properties: { type: { type: 'string', enum: ['image', 'video', 'document'] }, link: Link },
      },
    ],
  }),
)

export const headerPart = (header: string | MediaHeader | undefined) =>
  header === undefined
    ? {}
    : typeof header === 'string'
      ? { header: { type: 'text', text: header } }
      : { header: { type: header.type, [header.type]: { link: header.link } } }

export const bodyPart = (body: string | undefined) => (body === undefined ? {} : { body: { text: body } })
export const footerPart = (footer: string | undefined) => (footer === undefined ? {} : { footer: { text: footer } })

export const interactive = (parts: object) => ({ type: 'interactive', interactive: parts })

/** Media is named by a link or by the id of an upload, never by both. */
export function requireOneSource(body: { link?: string; mediaId?: string }): void {
  if (body.link === undefined && body.mediaId === undefined)
    throw badRequest('validation_failed', 'link is required (or mediaId).', [
      { field: 'link', message: 'is required (or mediaId)' },
    ])
  if (body.link !== undefined && body.mediaId !== undefined) throw invalidField('mediaId', 'must not be sent with link')
}

export const mediaSource = (body: { link?: string; mediaId?: string }) =>
  body.mediaId === undefined ? { link: body.link } : { id: body.mediaId }

export function requireUnique(values: readonly string[], field: (index: number) => string): void {
  const seen = new Set<string>()
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) throw invalidField(field(index), 'must not be repeated')
    seen.add(value)
  }
}
