import type { Business } from '../../platform/business.ts'
import type { Db } from '../../platform/database.ts'
import { isId, newId } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { badRequest, conflict, fail, notFound, Problem, unprocessable } from '../../platform/problem.ts'
import { channelOf } from '../channel/channels.ts'
import { getSetting, recentSetting } from '../settings/settings.ts'
import { storable } from '../storable.ts'
import { checkDefinition, checkLifetime } from './definition.ts'
import * as store from './store.ts'
import type { Component, Template } from './template.ts'

/**
 * A template is made or synced, then reviewed by the platform. PENDING becomes APPROVED or REJECTED; an approved one may
 * be PAUSED or DISABLED by the platform and come back. Only an APPROVED one can be sent.
 */
export function requireApproved(template: Template): void {
  if (template.status !== 'APPROVED')
    throw unprocessable(
      'template_not_approved',
      `Template "${template.name}" (${template.language}) is ${template.status}; only an APPROVED template can be sent.`,
    )
}

/** By name and, where given, language; else the language it was first made in, an approved one before others. */
export async function findTemplateForSend(
  db: Db,
  businessId: string,
  wanted: { name: string; language?: string },
): Promise<Template> {
  const stored = (await store.templatesNamed(db, businessId, wanted.name)).filter(one => one.status !== 'DELETED')
  if (stored.length === 0)
    throw new Problem(
      404,
      'template_not_found',
      `Template "${wanted.name}" not found. Make it with POST /templates, or fetch it with POST /templates/sync.`,
    )
  if (wanted.language === undefined) return stored.find(one => one.status === 'APPROVED') ?? stored[0]!
  const found = stored.find(one => one.language.toLowerCase() === wanted.language?.toLowerCase())
  if (found) return found
  const languages = stored.map(one => one.language).join(', ')
  throw new Problem(404, 'template_not_found', `Template "${wanted.name}" exists in ${languages} only.`)
}

export async function getTemplate(db: Db, businessId: string, idOrName: string): Promise<Template> {
  const byId = isId(idOrName) ? await store.templateById(db, businessId, idOrName) : undefined
  return byId ?? (await store.templatesNamed(db, businessId, idOrName))[0] ?? fail(notFound('Template'))
}

export interface TemplateDraft {
  name: string
  language: string
  category: string
  parameter_format?: string
  message_send_ttl_seconds?: number
  components: Component[]
}

/** The platform says first whether it takes the template; only then is it ours. */
export async function createTemplate(
  platform: Platform,
  db: Db,
  business: Business,
  { draft, now }: { draft: TemplateDraft; now: Date },
): Promise<Template> {
  const definition = {
    name: draft.name,
    language: draft.language,
    category: draft.category,
    parameterFormat: draft.parameter_format ?? 'POSITIONAL',
    components: normalise(storable(draft.components)),
  }
  const ttlSeconds = draft.message_send_ttl_seconds
  const errors = [...checkDefinition(definition), ...checkLifetime(draft.category, ttlSeconds)]
  if (errors.length > 0)
    throw badRequest('validation_failed', `${errors[0]!.field} ${errors[0]!.message}.`, errors.slice(0, 20))
  const present = await store.templatesNamed(db, business.id, draft.name)
  if (present.some(one => one.language === draft.language && one.status !== 'DELETED')) throw taken(draft)
  const setting = await recentSetting(platform, business.id)
  const made = await channelOf(platform, setting).createTemplate({
    definition: { ...definition, ...(ttlSeconds !== undefined && { ttlSeconds }) },
    now,
  })
  const row = { id: newId(), ...definition, ...made, quality: 'UNKNOWN', rejectedReason: '', now }
  if (present.some(one => one.language === draft.language)) await store.upsertTemplate(db, business.id, row)
  else if (!(await store.insertTemplate(db, business.id, row))) throw taken(draft)
  const saved = await store.templatesNamed(db, business.id, draft.name)
  return saved.find(one => one.language === draft.language)!
}

const taken = (draft: TemplateDraft) =>
  conflict('template_taken', `Template "${draft.name}" exists in ${draft.language} already.`)

/** Types are compared in upper case, however they were written. */
export const normalise = (components: readonly Component[]): Component[] =>
  components.map(component => ({
    ...component,
    type: component.type.toUpperCase(),
    ...(component.format !== undefined && { format: component.format.toUpperCase() }),
    ...(Array.isArray(component.buttons) && {
      buttons: component.buttons.map(button => ({ ...button, type: String(button.type).toUpperCase() })),
    }),
    ...(Array.isArray(component.cards) && {
      cards: component.cards.map(card => ({ ...card, components: normalise(card.components ?? []) })),
    }),
  }))

/** Fetches every template of the account; what the platform no longer has is marked deleted. */
export async function syncTemplates(
  platform: Platform,
  db: Db,
  business: Business,
  now: Date,
): Promise<{ synced: number }> {
  // Read anew: a channel that was connected a moment ago is what this is for.
  const setting = await getSetting(db, business.id)
  const found = await channelOf(platform, setting).listTemplates()
  // The sandbox has no templates besides ours.
  if (!found) return { synced: (await store.listTemplates(db, business.id, {}, { offset: 0, limit: 1 })).total }
  for (const template of found)
    await store.upsertTemplate(db, business.id, {
      id: newId(),
      ...storable(template),
      components: normalise(storable(template.components)),
      now,
    })
  await store.markDeletedExcept(
    db,
    business.id,
    found.map(template => template.platformId),
    now,
  )
  return { synced: found.length }
}
