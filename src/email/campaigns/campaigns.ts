import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Db, Tx } from '../../platform/database.ts'
import { isUniqueViolation } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId } from '../../platform/ids.ts'
import type { PageRequest } from '../../platform/page.ts'
import { conflict, fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import { checkTemplate } from '../delivery/template.ts'
import { findServer } from '../delivery-servers/delivery-servers.ts'
import type { Audience } from '../subscribers/audience.ts'
import { isEmail } from '../subscribers/email-address.ts'
import * as templates from '../templates/store.ts'
import { compileContent, type TemplateContent } from '../templates/templates.ts'
import { holdAudience, resolveAudience } from './resolve-audience.ts'
import type { Campaign, CampaignChanges, CampaignType, NewCampaign } from './schema.ts'
import * as store from './store.ts'

/**
 * A campaign is a mail that can be sent. Made through the API it is `live` at once: every call may send it. A Regular
 * one begins as `draft`; with a time and an audience it is `scheduled`, and at that time it goes out and becomes `live`.
 * Only a live campaign can be sent. A scheduled one may go back to draft; a live Regular one stays live.
 */
export async function createCampaign(db: Database, business: Business, given: NewCampaign): Promise<Campaign> {
  const now = await nowFor(db, business)
  const { campaignName, subject, campaignType = 'API / Workflow Campaign', ...rest } = given.campaignDetails
  checkTexts({ subject, preheaderText: rest.preheaderText })
  if ((given.content === undefined) === (given.templateId === undefined))
    throw invalidField('content', 'or templateId must be given, and only one of them')
  const id = newId()
  const htmlContent = given.content === undefined ? '' : await compileContent(contentOf(given, given.content))
  return db.begin(async tx => {
    const planned = await plan(tx, business, given, { campaignType, now })
    const templateId =
      given.content === undefined
        ? ((await templates.find(tx, business.id, given.templateId!)) ?? fail(templateMissing()))._id
        : (
            await ownTemplate(
              tx,
              business.id,
              { id, name: campaignName, htmlContent, ...contentOf(given, given.content) },
              now,
            )
          )._id
    const row = {
      id,
      name: campaignName,
      campaignType,
      subject,
      senderName: '',
      preheaderText: '',
      ...defined(rest),
      ...planned,
      templateId,
    }
    if (!(await store.insert(tx, business.id, row, now))) throw nameTaken(campaignName)
    const campaign = toCampaign((await store.find(tx, business.id, id))!)
    await tell(tx, business, 'campaign_create', campaign, now)
    return campaign
  })
}

export async function updateCampaign(
  db: Database,
  business: Business,
  id: string,
  given: CampaignChanges,
): Promise<Campaign> {
  const now = await nowFor(db, business)
  const { campaignName, subject, ...rest } = given.campaignDetails ?? {}
  checkTexts({ subject, preheaderText: rest.preheaderText })
  if (given.content !== undefined && given.templateId !== undefined)
    throw invalidField('content', 'and templateId can not both be given')
  const content = given.content === undefined ? undefined : await changedContent(db, business.id, id, given)
  const attempt = db.begin(async tx => {
    const known = (await store.lock(tx, business.id, id)) ?? fail(notFound('Campaign'))
    const planned = await plan(tx, business, given, { campaignType: known.campaignType, now, known })
    const row = {
      ...known,
      ...defined({ ...rest, name: campaignName, subject }),
      ...planned,
      templateId:
        (await changedTemplate(tx, business.id, known, { templateId: given.templateId, content }, now)) ??
        known.templateId,
    }
    await store.update(tx, business.id, row, now)
    const campaign = toCampaign((await store.find(tx, business.id, id))!)
    await tell(tx, business, 'campaign_update', campaign, now)
    return campaign
  })
  return attempt.catch(error => {
    throw isUniqueViolation(error) ? nameTaken(campaignName ?? '') : error
  })
}

/** Spec silent: only what was never sent can be deleted, because deliveries tell of the campaign they belong to. */
export function removeCampaign(db: Database, business: Business, id: string): Promise<Campaign> {
  return db.begin(async tx => {
    const known = (await store.lock(tx, business.id, id)) ?? fail(notFound('Campaign'))
    if (known.status === 'live')
      throw unprocessable('campaign_live', `Campaign "${known.name}" is live and can't be deleted.`)
    await store.remove(tx, business.id, id)
    const campaign = toCampaign(known)
    await tell(tx, business, 'campaign_delete', campaign, await nowFor(tx, business))
    return campaign
  })
}

export const getCampaign = async (db: Db, businessId: string, id: string): Promise<Campaign> =>
  toCampaign((await store.find(db, businessId, id)) ?? fail(notFound('Campaign')))

export async function pageOfCampaigns(db: Db, businessId: string, type: CampaignType | undefined, page: PageRequest) {
  const total = await store.count(db, businessId, type)
  const rows =
    page.offset >= total ? [] : await store.page(db, businessId, { type, limit: page.limit, offset: page.offset })
  return { total, campaigns: rows.map(toCampaign) }
}

/** Status, time and audience that the request leads to. */
async function plan(
  tx: Tx,
  business: Business,
  given: NewCampaign | CampaignChanges,
  about: { campaignType: CampaignType; now: Date; known?: store.CampaignRow },
): Promise<Pick<store.CampaignRow, 'status' | 'scheduledAt' | 'audience' | 'deliveryServerId' | 'senderEmail'>> {
  const { known, now, campaignType } = about
  if (given.senderEmail && !isEmail(given.senderEmail))
    throw invalidField('senderEmail', 'must be a valid email address')
  if (given.deliveryServerId) await findServer(tx, business.id, given.deliveryServerId)
  const audience = await audienceAfter(tx, business.id, given, known?.audience ?? null)
  const scheduledAt =
    given.scheduledAt === undefined ? (known?.scheduledAt ?? null) : given.scheduledAt && new Date(given.scheduledAt)
  const base = {
    audience,
    deliveryServerId: given.deliveryServerId ?? known?.deliveryServerId ?? null,
    senderEmail: given.senderEmail ?? known?.senderEmail ?? '',
  }
  const asked = 'status' in given ? given.status : undefined
  if (campaignType !== 'Regular' || known?.status === 'live' || asked === 'live') {
    if (asked === 'draft')
      throw unprocessable(
        'campaign_live',
        'Only a Regular campaign that is not live yet can be a draft. To stop what is being sent, use POST /campaigns/{id}/pause or /cancel.',
      )
    if (given.scheduledAt)
      throw unprocessable('campaign_not_schedulable', 'Only a Regular campaign that is not live yet can be scheduled.')
    return { ...base, status: 'live', scheduledAt: null }
  }
  if (asked === 'draft' || !scheduledAt) return { ...base, status: 'draft', scheduledAt: null }
  if (!audience || audience.includedListIds.length + audience.includedSegmentIds.length === 0)
    throw invalidField('lists', 'is required to schedule a campaign')
  if (given.scheduledAt && scheduledAt <= now)
    throw unprocessable('scheduled_in_the_past', `scheduledAt must be after ${now.toISOString()}.`)
  await holdAudience(tx, business.id, audience)
  if (base.deliveryServerId) await findServer(tx, business.id, base.deliveryServerId)
  return { ...base, status: 'scheduled', scheduledAt }
}

/** What is not given stays: whoever changes the lists alone must not mail those who were left out, nor the other way round. */
async function audienceAfter(
  tx: Tx,
  businessId: string,
  given: Pick<NewCampaign, 'lists' | 'includedList' | 'excludedList'>,
  known: Audience | null,
): Promise<Audience | null> {
  const included = given.includedList ?? given.lists
  const excluded = given.excludedList
  if (!included && !excluded) return known
  const named = await resolveAudience(tx, businessId, { included: included ?? [], excluded: excluded ?? [] })
  const { includedListIds, includedSegmentIds, excludedListIds, excludedSegmentIds } = known ?? named
  return {
    ...named,
    ...(!included && { includedListIds, includedSegmentIds }),
    ...(!excluded && { excludedListIds, excludedSegmentIds }),
  }
}

const contentOf = (given: Pick<NewCampaign, 'builderType'>, content: string) => ({
  builderType: given.builderType ?? 'HTML',
  content,
})

const ownTemplate = (
  tx: Tx,
  businessId: string,
  made: {
    id: string
    name: string
    htmlContent: string
    builderType: templates.TemplateRow['builderType']
    content: string
  },
  now: Date,
) => templates.insert(tx, businessId, { ...made, _id: newId(), campaignId: made.id }, now)

/** Made ready before the transaction: rendering may wait its turn, and must not hold locks meanwhile. */
async function changedContent(
  db: Database,
  businessId: string,
  id: string,
  { builderType, content = '' }: CampaignChanges,
): Promise<CompiledTemplate> {
  const { templateId } = (await store.find(db, businessId, id)) ?? fail(notFound('Campaign'))
  const current = await templates.findAny(db, businessId, templateId)
  const given = { builderType: builderType ?? current?.builderType ?? 'HTML', content }
  return { ...given, htmlContent: await compileContent(given) }
}

type CompiledTemplate = TemplateContent & { htmlContent: string }

/** New content changes the campaign's own template; a template that others may use is never changed from here. */
async function changedTemplate(
  tx: Tx,
  businessId: string,
  known: store.WholeCampaign,
  given: { templateId: string | undefined; content: CompiledTemplate | undefined },
  now: Date,
): Promise<string | undefined> {
  if (given.templateId !== undefined)
    return ((await templates.find(tx, businessId, given.templateId)) ?? fail(templateMissing()))._id
  if (!given.content) return undefined
  const current = (await templates.findAny(tx, businessId, known.templateId))!
  if (current.campaignId !== known.id)
    return (await ownTemplate(tx, businessId, { id: known.id, name: known.name, ...given.content }, now))._id
  return (await templates.update(tx, businessId, { ...current, ...given.content }, now))?._id
}

function checkTexts(texts: { subject?: string; preheaderText?: string }): void {
  for (const [field, text] of Object.entries(texts)) if (text) checkTemplate(text, `campaignDetails.${field}`)
}

const defined = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: NonNullable<T[K]>
  }

const toCampaign = (row: store.WholeCampaign): Campaign => ({
  _id: row.id,
  campaignDetails: {
    campaignType: row.campaignType,
    campaignName: row.name,
    senderName: row.senderName,
    subject: row.subject,
    preheaderText: row.preheaderText,
  },
  status: row.status,
  templateId: row.template,
  scheduledAt: row.scheduledAt,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

const nameTaken = (name: string) =>
  conflict('campaign_name_taken', `A campaign is already named "${name}".`, [
    { field: 'campaignDetails.campaignName', message: 'is already taken' },
  ])
const templateMissing = () =>
  unprocessable('template_not_found', 'There is no template with this templateId.', [
    { field: 'templateId', message: 'must be the id of a template' },
  ])

export const tell = (tx: Tx, business: { id: string }, type: string, campaign: Campaign, now: Date) => {
  const { templateId, ...rest } = campaign
  const { htmlContent: _, ...template } = templateId
  return emit(tx, {
    businessId: business.id,
    type,
    source: 'api',
    objectId: campaign._id,
    data: { ...rest, templateId: template },
    at: now,
  })
}
