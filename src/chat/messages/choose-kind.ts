import type { Db } from '../../platform/database.ts'
import { badRequest, invalidField } from '../../platform/problem.ts'
import type { Template } from '../templates/template.ts'
import { findTemplateForSend } from '../templates/templates.ts'
import type { Kind } from './kind.ts'
import { addressRequest } from './kinds/address-request.ts'
import { audio } from './kinds/audio.ts'
import { catalog } from './kinds/catalog.ts'
import { ctaUrl } from './kinds/cta-url.ts'
import { document } from './kinds/document.ts'
import { image } from './kinds/image.ts'
import { list } from './kinds/list.ts'
import { locationRequest } from './kinds/location-request.ts'
import { multiProduct } from './kinds/multi-product.ts'
import { replyButtons } from './kinds/reply-buttons.ts'
import { singleProduct } from './kinds/single-product.ts'
import { templateAuthentication } from './kinds/template-authentication.ts'
import { templateButtons } from './kinds/template-buttons.ts'
import { templateCarousel } from './kinds/template-carousel.ts'
import { templateLto } from './kinds/template-lto.ts'
import { templateMedia } from './kinds/template-media.ts'
import { templateText } from './kinds/template-text.ts'
import { text } from './kinds/text.ts'
import { video } from './kinds/video.ts'

/** Every kind of message, in the order in which they are tried. */
export const kinds: readonly Kind[] = [
  text,
  image,
  audio,
  video,
  document,
  multiProduct,
  singleProduct,
  catalog,
  list,
  replyButtons,
  ctaUrl,
  addressRequest,
  locationRequest,
  templateCarousel,
  templateLto,
  templateAuthentication,
  templateButtons,
  templateMedia,
  templateText,
]

export interface Chosen {
  kind: Kind
  template: Template | undefined
}

/** By type, then interactiveType, then the stored definition of the template. */
export async function chooseKind(db: Db, businessId: string, body: Record<string, unknown>): Promise<Chosen> {
  const { type, interactiveType, templateName, languageCode } = body
  const ofType = kinds.filter(kind => kind.type === type)
  if (ofType.length === 0) throw noKind('type', [...new Set(kinds.map(kind => kind.type))])
  if (type === 'interactive') {
    // Only the multi-product message may leave interactiveType out.
    const wanted = interactiveType ?? multiProduct.interactiveType
    const kind = ofType.find(one => one.interactiveType === wanted)
    if (!kind)
      throw noKind(
        'interactiveType',
        ofType.map(one => String(one.interactiveType)),
      )
    return { kind, template: undefined }
  }
  if (type !== 'template') return { kind: ofType[0]!, template: undefined }
  if (templateName === undefined) throw missing('templateName')
  if (typeof templateName !== 'string') throw invalidField('templateName', 'must be a string')
  if (templateName === '') throw invalidField('templateName', 'must not be empty')
  if (languageCode !== undefined && typeof languageCode !== 'string')
    throw invalidField('languageCode', 'must be a string')
  const template = await findTemplateForSend(db, businessId, { name: templateName, language: languageCode })
  const kind = ofType.find(one => one.fits?.(template)) ?? templateText
  return { kind, template }
}

const missing = (field: string) =>
  badRequest('validation_failed', `${field} is required.`, [{ field, message: 'is required' }])

const noKind = (field: string, values: readonly string[]) =>
  badRequest(
    'unknown_message_kind',
    `${field} must be one of ${values.join(', ')}. Kinds: ${kinds.map(kind => kind.name).join(', ')}.`,
    [{ field, message: `must be one of ${values.join(', ')}` }],
  )
