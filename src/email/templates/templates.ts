import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import { fail, notFound, Problem, unprocessable } from '../../platform/problem.ts'
import { renderOnThread } from '../delivery/markup-thread.ts'
import { isMjml } from '../delivery/mjml.ts'
import { checkTemplate } from '../delivery/template.ts'
import type { BuilderType } from './schema.ts'
import * as store from './store.ts'

export interface TemplateContent {
  builderType: BuilderType
  content: string
}

/** Refuses content that does not parse, and answers the markup that is mailed. */
export async function compileContent({ builderType, content }: TemplateContent): Promise<string> {
  checkTemplate(content)
  if (!isMjml(builderType, content)) return content
  try {
    const { html, errors } = await renderOnThread(content)
    if (/<body[\s>]/.test(html) && errors.length === 0) return html
    throw new Error(errors[0] ?? 'it has no <mj-body>')
  } catch (error) {
    if (error instanceof Problem) throw error
    throw unprocessable(
      'template_invalid',
      `The MJML can't be rendered: ${(error as Error).message.replace(/\.+$/, '')}.`,
      [{ field: 'content', message: (error as Error).message }],
    )
  }
}

export async function createTemplate(
  db: Database,
  business: Business,
  given: TemplateContent & { name: string },
): Promise<store.TemplateRow> {
  const htmlContent = await compileContent(given)
  return store.insert(db, business.id, { _id: newId(), ...given, htmlContent }, await nowFor(db, business))
}

export async function updateTemplate(
  db: Database,
  business: Business,
  id: string,
  given: Partial<TemplateContent & { name: string }>,
): Promise<store.TemplateRow> {
  const known = await getTemplate(db, business.id, id)
  const changed = {
    _id: id,
    name: given.name ?? known.name,
    builderType: given.builderType ?? known.builderType,
    content: given.content ?? known.content,
  }
  const htmlContent = await compileContent(changed)
  const now = await nowFor(db, business)
  return (await store.update(db, business.id, { ...changed, htmlContent }, now)) ?? fail(notFound('Template'))
}

export const getTemplate = async (db: Database, businessId: string, id: string): Promise<store.TemplateRow> =>
  (await store.find(db, businessId, id)) ?? fail(notFound('Template'))

export async function removeTemplate(db: Database, businessId: string, id: string): Promise<store.TemplateRow> {
  return db.begin(async tx => {
    const users = await store.campaignsUsing(tx, businessId, id)
    if (users.length > 0)
      throw unprocessable(
        'template_in_use',
        `The template is used by ${users.map(user => `"${user.name}"`).join(', ')} and can't be deleted.`,
      )
    return (await store.remove(tx, businessId, id)) ?? fail(notFound('Template'))
  })
}
