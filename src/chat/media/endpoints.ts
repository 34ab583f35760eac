import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { endpoint, Raw } from '../../platform/endpoint.ts'
import { conflict, notFound, Problem } from '../../platform/problem.ts'
import { IdInPath } from '../../platform/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { contentOf, getMedia as findMedia } from './content.ts'
import { storeUpload } from './media.ts'
import { MediaSchema, shownMedia } from './shown.ts'
import * as store from './store.ts'

const MediaInPath = Type.Object({ id: IdInPath })

export const uploadMedia = endpoint({
  summary: 'Upload a picture, film, sound or document to send',
  description:
    'Send the file as the body, with its own Content-Type. Its _id is the mediaId of messages, media templates and broadcasts. At most: image 5 MB, video and audio 16 MB, document 100 MB.',
  query: Type.Object({ filename: Type.Optional(Type.String({ minLength: 1, maxLength: 240 })) }),
  accepts: 'stream',
  answer: envelope(MediaSchema),
  run: async ({ db, business, query, body, headers }) => {
    if (!(body instanceof Readable))
      throw new Problem(415, 'media_type_unsupported', 'Send the file as the body, with its own Content-Type.')
    const mimeType = String(headers['content-type'] ?? '').slice(0, 200)
    const media = await storeUpload(db, business, body, { mimeType, filename: query.filename ?? '' })
    return ok('Media stored', shownMedia(media))
  },
})

export const getMedia = endpoint({
  summary: 'A file: one you uploaded, or one that came with a message',
  params: MediaInPath,
  answer: envelope(MediaSchema),
  run: async ({ db, business, params }) => ok('Media fetched', shownMedia(await findMedia(db, business.id, params.id))),
})

export const downloadMedia = endpoint({
  summary: 'The content of a file',
  params: MediaInPath,
  run: async ({ platform, business, params }) => {
    const media = await findMedia(platform.db, business.id, params.id)
    if (media.status !== 'stored')
      throw conflict(
        'media_not_stored',
        media.status === 'failed'
          ? `The file could not be fetched: ${media.error}`
          : 'The file is still being fetched from the platform. Ask again in a moment.',
      )
    // People send what they like: a browser must neither guess its type nor run it.
    return new Raw(media.mimeType, contentOf(platform.db, business.id, media.id), {
      headers: {
        'content-length': String(media.size),
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(media.filename || media.id)}`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
      },
    })
  },
})

export const deleteMedia = endpoint({
  summary: 'Delete a file; messages that carried it stay',
  params: MediaInPath,
  answer: envelope(Type.Object({ _id: Type.String() })),
  run: async ({ db, business, params }) => {
    if (!(await store.deleteMedia(db, business.id, params.id))) throw notFound('Media')
    return ok('Media deleted', { _id: params.id })
  },
})
