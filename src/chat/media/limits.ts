export type MediaKind = 'image' | 'video' | 'audio' | 'document' | 'sticker'

const mb = 1024 * 1024

/** What the platform takes, by kind. */
export const maxBytes: Record<MediaKind, number> = {
  image: 5 * mb,
  video: 16 * mb,
  audio: 16 * mb,
  document: 100 * mb,
  sticker: mb / 2,
}

export const isMediaKind = (type: string): type is MediaKind => Object.hasOwn(maxBytes, type)

const kinds = new Map<string, MediaKind>([
  ['image/jpeg', 'image'],
  ['image/png', 'image'],
  ['image/webp', 'sticker'],
  ['video/mp4', 'video'],
  ['video/3gpp', 'video'],
  ['audio/aac', 'audio'],
  ['audio/amr', 'audio'],
  ['audio/mpeg', 'audio'],
  ['audio/mp4', 'audio'],
  ['audio/ogg', 'audio'],
])

/** `audio/ogg; codecs=opus` is audio/ogg. */
export const baseType = (mimeType: string) => mimeType.split(';', 1)[0]!.trim().toLowerCase()

/** Undefined: nothing the platform takes. Other files than these are documents, whatever their type. */
export function kindOfType(mimeType: string): MediaKind | undefined {
  const type = baseType(mimeType)
  if (/^(image|video|audio|multipart)\//.test(type)) return kinds.get(type)
  return /^(application|text)\/[\w.+-]+$/.test(type) ? 'document' : undefined
}

const beginnings = new Map([
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/png', [0x89, 0x50, 0x4e, 0x47]],
  ['image/webp', [0x52, 0x49, 0x46, 0x46]],
  ['audio/ogg', [0x4f, 0x67, 0x67, 0x53]],
  ['application/pdf', [0x25, 0x50, 0x44, 0x46]],
])

/** False where the file plainly is something else: the platform would only tell so later, by a failed status. */
export function looksLike(mimeType: string, content: Buffer): boolean {
  const expected = beginnings.get(baseType(mimeType))
  return !expected || expected.every((byte, i) => content[i] === byte)
}
