import { type Db, first } from '../../platform/database.ts'
import { storable } from '../storable.ts'
import type { ContactSource } from './schema.ts'

export interface Attribute {
  name: string
  value: string
  _id: string
}

export interface ContactRow {
  id: string
  name: string
  countryCode: string
  mobile: string
  status: 'active' | 'blocked'
  source: ContactSource
  optin: boolean
  stoppedAt: Date | null
  incomingBlocked: boolean
  attributes: Attribute[]
  list: string[]
  tags: string[]
  broadcastIds: string[]
  revision: number
  createdAt: Date
  updatedAt: Date
}

export const contactColumns = (db: Db) => db`
  contact.id, contact.name, contact.country_code as "countryCode", contact.mobile, contact.status, contact.source, contact.optin,
  contact.stopped_at as "stoppedAt", contact.incoming_blocked as "incomingBlocked", contact.attributes, contact.list,
  contact.tags, contact.broadcast_ids as "broadcastIds", contact.revision,
  contact.created_at as "createdAt", contact.updated_at as "updatedAt"`

export const contactById = (db: Db, businessId: string, id: string) =>
  db<ContactRow[]>`
  select ${contactColumns(db)} from chat_contact contact where business_id = ${businessId} and id = ${id}`.then(first)

/** Without the key: messages may still be written to the contact meanwhile, they only need it to stay. */
export const lockContact = (db: Db, businessId: string, id: string) =>
  db<ContactRow[]>`
  select ${contactColumns(db)} from chat_contact contact where business_id = ${businessId} and id = ${id} for no key update`.then(
    first,
  )

export const lastActive = (db: Db, businessId: string, id: string) =>
  db<{ at: Date | null }[]>`
  select last_incoming_at as at from chat_conversation where business_id = ${businessId} and id = ${id}`.then(
    rows => rows[0]?.at ?? undefined,
  )

/**
 * By number, also by one that the contact had before or that the platform writes differently. Each is looked up by its whole
 * key: given a list of numbers, PostgreSQL may read all contacts of a business that it has no statistics of yet.
 */
export const contactsByNumbers = (db: Db, businessId: string, numbers: readonly string[]) => {
  const wanted = db`unnest(${[...new Set(numbers)]}::text[]) as wanted (number)`
  return db<(ContactRow & { matched: string })[]>`
  select ${contactColumns(db)}, wanted.number as matched
  from ${wanted} cross join lateral (
    select * from chat_contact where business_id = ${businessId} and mobile = wanted.number and mobile <> '' limit 1) contact
  union all
  select ${contactColumns(db)}, wanted.number as matched
  from ${wanted} cross join lateral (
    select contact_id from chat_identity
    where business_id = ${businessId} and kind = 'phone' and value = wanted.number limit 1) identity
  cross join lateral (
    select * from chat_contact where business_id = ${businessId} and id = identity.contact_id limit 1) contact`
}

/** In one order everywhere, so that two that change many contacts can't wait for each other in a circle. */
export const lockContacts = (db: Db, businessId: string, ids: readonly string[]) => db`
  select 1 from unnest(${[...new Set(ids)].sort()}::text[]) as wanted (id) cross join lateral (
    select 1 from chat_contact where business_id = ${businessId} and id = wanted.id limit 1 for no key update) contact`

export const contactByUserId = (db: Db, businessId: string, userId: string) =>
  db<ContactRow[]>`
  select ${contactColumns(db)}
  from chat_identity identity
  join chat_contact contact on contact.business_id = identity.business_id and contact.id = identity.contact_id
  where identity.business_id = ${businessId} and identity.kind = 'user' and identity.value = ${userId}`.then(first)

export const userIdOf = (db: Db, businessId: string, contactId: string) =>
  db<{ value: string }[]>`
  select value from chat_identity where business_id = ${businessId} and contact_id = ${contactId} and kind = 'user'
  order by created_at desc limit 1`.then(rows => rows[0]?.value)

/** Answers the ids that were written; a number that another took in the meantime is not among them. */
export const insertContacts = (db: Db, businessId: string, contacts: readonly ContactRow[]) =>
  db<{ id: string }[]>`
  insert into chat_contact (business_id, id, name, country_code, mobile, status, source, optin, stopped_at,
    incoming_blocked, attributes, list, tags, broadcast_ids, revision, created_at, updated_at)
  select ${businessId}, id, name, "countryCode", mobile, status, source, optin, "stoppedAt",
    "incomingBlocked", attributes, list, tags, "broadcastIds", revision, "createdAt", "updatedAt"
  from ${recordset(db, contacts)}
  on conflict (business_id, mobile) where mobile <> '' do nothing
  returning id`.then(rows => new Set(rows.map(row => row.id)))

export const updateContacts = (db: Db, businessId: string, contacts: readonly ContactRow[]) => db`
  update chat_contact
  set name = x.name, country_code = x."countryCode", mobile = x.mobile, status = x.status, optin = x.optin,
      stopped_at = x."stoppedAt", incoming_blocked = x."incomingBlocked", attributes = x.attributes, list = x.list,
      tags = x.tags, revision = x.revision, updated_at = x."updatedAt"
  from ${recordset(db, contacts)}
  where chat_contact.business_id = ${businessId} and chat_contact.id = x.id`

const recordset = (db: Db, contacts: readonly ContactRow[]) => db`
  jsonb_to_recordset(${db.json(storable(contacts) as never)}::jsonb) as x (
    id text, name text, "countryCode" text, mobile text, status text, source text, optin boolean, "stoppedAt" timestamptz,
    "incomingBlocked" boolean, attributes jsonb, list text[], tags text[], "broadcastIds" text[], revision int,
    "createdAt" timestamptz, "updatedAt" timestamptz)`

/** Answers false where the name belongs to another contact already. */
export const addIdentity = (
  db: Db,
  businessId: string,
  identity: { kind: 'phone' | 'user'; value: string; contactId: string },
) =>
  db<{ contactId: string }[]>`
  insert into chat_identity (business_id, kind, value, contact_id)
  values (${businessId}, ${identity.kind}, ${identity.value}, ${identity.contactId})
  on conflict (business_id, kind, value) do update set contact_id = chat_identity.contact_id
  returning contact_id as "contactId"`.then(rows => rows[0]?.contactId === identity.contactId)

export const hasLaterWord = (db: Db, businessId: string, contactId: string, at: Date) =>
  db`
  select 1 from chat_consent
  where business_id = ${businessId} and contact_id = ${contactId} and source in ('keyword', 'preference') and at > ${at}
  limit 1`.then(rows => rows.length > 0)

export const insertConsent = (
  db: Db,
  businessId: string,
  consent: {
    id: string
    contactId: string
    decision: 'stop' | 'resume'
    source: string
    evidence: string
    at: Date
  },
) => db`
  insert into chat_consent (business_id, id, contact_id, decision, source, evidence, at)
  values (${businessId}, ${consent.id}, ${consent.contactId}, ${consent.decision}, ${consent.source}, ${consent.evidence}, ${consent.at})`

/** A contact of a request whose number is taken by an identity lock waits here, so that one number makes one contact. */
export const lockNumber = (db: Db, businessId: string, name: string) => db`
  select pg_advisory_xact_lock(hashtextextended(${`chat:${businessId}:${name}`}, 0))`
