import { Readable } from 'node:stream'
import type { Db } from '../../platform/database.ts'
import { fail, notFound } from '../../platform/problem.ts'
import * as store from './store.ts'

export const isOurs = (mediaId: string) => /^[0-9a-f]{24}$/.test(mediaId)

export const getMedia = async (db: Db, businessId: string, id: string): Promise<store.MediaRow> => {
  const media = await store.mediaById(db, businessId, id)
  return media && media.status !== 'uploading' ? media : fail(notFound('Media'))
}

/** The content as a stream, a piece at a time. */
export const contentOf = (db: Db, businessId: string, id: string): Readable =>
  Readable.from(piecesOf(db, businessId, id))

export async function* piecesOf(db: Db, businessId: string, id: string): AsyncGenerator<Buffer> {
  for (let number = 0; ; number++) {
    const content = await store.pieceOf(db, businessId, id, number)
    if (!content) return
    yield content
  }
}
