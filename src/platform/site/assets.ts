import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Type } from 'typebox'
import { endpoint, Raw } from '../endpoint.ts'
import { notFound } from '../problem.ts'

/** A file of ours that pages link to. Its address holds a hash of what is in it, so browsers may keep it for ever. */
export interface Asset {
  name: string
  url: string
  contentType: string
  content: Buffer
}

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

export function readAsset(path: string, baseUrl: string): Asset {
  const content = readFileSync(path)
  const extension = path.slice(path.lastIndexOf('.') + 1)
  const name = `${createHash('sha256').update(content).digest('hex').slice(0, 16)}.${extension}`
  const contentType = types[extension]
  if (!contentType) throw new Error(`A page asset must be one of ${Object.keys(types).join(', ')}: ${path}`)
  return { name, url: `${baseUrl}/${name}`, contentType, content }
}

export const serveAssets = (assets: readonly Asset[]) =>
  endpoint({
    summary: 'A style or script of a page',
    params: Type.Object({ file: Type.String({ maxLength: 100 }) }),
    run: async ({ params }) => {
      const asset = assets.find(one => one.name === params.file)
      if (!asset) throw notFound('File')
      return new Raw(asset.contentType, asset.content, {
        headers: { 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' },
      })
    },
  })
