import type postgres from 'postgres'
import { type Db, first, only, type Tx } from '../../platform/database.ts'
import { tenant } from '../store-tenant.ts'

export interface CampaignToSend {
  id: string
  name: string
  subject: string
  senderName: string
  senderEmail: string
  preheader: string
  deliveryServerId: string | null
  builderType: string
  content: string
}

export const campaignToSend = (db: Db, businessId: string, campaignId: string) =>
  db<CampaignToSend[]>`
    select c.id, c.name, c.subject, c.sender_name as "senderName", c.sender_email as "senderEmail",
      c.preheader_text as preheader, c.delivery_server_id as "deliveryServerId",
      t.builder_type as "builderType", t.content
    from email_campaign c
    join email_template t on t.business_id = c.business_id and t.id = c.template_id
    where c.business_id = ${businessId} and c.id = ${campaignId}`.then(first)

export const keepContent = (
  tx: Tx,
  businessId: string,
  content: { id: string; builderType: string; source: string; preheader: string; footer: boolean; now: Date },
) => tx`
  insert into email_content (business_id, id, builder_type, source, preheader, footer, created_at)
  values (${businessId}, ${content.id}, ${content.builderType}, ${content.source}, ${content.preheader},
    ${content.footer}, ${content.now})
  on conflict do nothing`

export interface NewSend {
  id: string
  campaignId: string
  campaignName: string
  contentId: string
  lane: number
  subject: string
  fromName: string
  senderEmail: string
  deliveryServerId: string | null
  total: number
  queued: number
  now: Date
}

export const insertSend = (tx: Tx, businessId: string, send: NewSend) => tx`
  insert into email_send (business_id, id, campaign_id, campaign_name, content_id, lane, subject, from_name,
    sender_email, delivery_server_id, total, queued, state, completed_at, created_at, updated_at)
  values (${businessId}, ${send.id}, ${send.campaignId}, ${send.campaignName}, ${send.contentId}, ${send.lane},
    ${send.subject}, ${send.fromName}, ${send.senderEmail}, ${send.deliveryServerId}, ${send.total}, ${send.queued},
    ${send.queued === 0 ? 'complete' : 'sending'}, ${send.queued === 0 ? send.now : null}, ${send.now}, ${send.now})`

export const setSendTotals = (tx: Tx, businessId: string, sendId: string, queued: number, now: Date) => tx`
  update email_send set total = ${queued}, queued = ${queued},
    state = case when ${queued} = 0 then 'complete' else 'sending' end,
    completed_at = case when ${queued} = 0 then ${now}::timestamptz end
  where business_id = ${businessId} and id = ${sendId}`

export const insertAttachment = (
  tx: Tx,
  businessId: string,
  sendId: string,
  attachment: { position: number; filename: string; contentType: string; content: Buffer },
) => tx`
  insert into email_send_attachment (business_id, send_id, position, filename, content_type, content)
  values (${businessId}, ${sendId}, ${attachment.position}, ${attachment.filename}, ${attachment.contentType},
    ${attachment.content})`

/** The addresses that may be mailed, each once, with its subscriber where there is one. */
export const mailableAddresses = (tx: Tx, businessId: string, emails: readonly string[]) =>
  tx<{ email: string; subscriberId: string | null }[]>`
    select distinct on (lower(given.email)) given.email, s.id as "subscriberId"
    from unnest(${emails as string[]}::text[]) with ordinality as given (email, place)
    left join email_subscriber s
      on s.business_id = ${tenant(tx, businessId)} and lower(s.email) = lower(given.email) and s.delete_after is null
    where not exists (select from email_suppression x where x.business_id = ${tenant(tx, businessId)} and x.address = lower(given.email))
    order by lower(given.email), given.place`

export const insertBlock = (
  tx: Tx,
  businessId: string,
  block: { sendId: string; first: number; lane: number; emails: string[]; subscriberIds: (string | null)[] },
) => tx`
  insert into email_block (business_id, send_id, first, lane, subscriber_ids, emails)
  values (${businessId}, ${block.sendId}, ${block.first}, ${block.lane}, ${block.subscriberIds.map(id => id ?? '')}::text[],
    ${block.emails}::text[])`

/** Freezes an audience: people in the order of their ids, so that the reads of a block stay near each other. */
export const freezeAudience = (
  tx: Tx,
  businessId: string,
  options: { sendId: string; lane: number; blockSize: number },
  audience: postgres.PendingQuery<postgres.Row[]>,
) =>
  tx<{ people: number }[]>`
    with person as (
      select subscriber_id, email, row_number() over (order by subscriber_id) - 1 as place from (${audience}) as audience
    ), numbered as (
      select *, place / ${options.blockSize}::int as number from person
    ), block as (
      insert into email_block (business_id, send_id, first, lane, subscriber_ids, emails)
      select ${businessId}, ${options.sendId}, min(place) + 1, ${options.lane}, array_agg(subscriber_id order by place),
        array_agg(email order by place)
      from numbered group by number
      returning cardinality(emails) as people
    )
    select coalesce(sum(people), 0)::int as people from block`.then(rows => only(rows).people)

/** Workers look at the version before they take a business from the table, so that no wake-up is lost. */
export const markDue = async (tx: Tx, businessId: string) => {
  await tx`
    insert into email_due (business_id) values (${businessId})
    on conflict (business_id) do update set version = email_due.version + 1`
  await tx`select pg_notify('email_due', ${businessId})`
}
