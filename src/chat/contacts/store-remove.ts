import type { Db } from '../../platform/database.ts'

/** All names that lead to a contact, its own number among them. */
export const namesOf = (db: Db, businessId: string, id: string) =>
  db<{ value: string }[]>`
  select mobile as value from chat_contact where business_id = ${businessId} and id = ${id} and mobile <> ''
  union select value from chat_identity where business_id = ${businessId} and contact_id = ${id}`.then(rows =>
    rows.map(row => row.value),
  )

/** Before its contacts, like those who freeze an audience. */
export const lockBroadcastsOf = (db: Db, businessId: string, contactId: string) => db`
  select 1 from chat_broadcast where business_id = ${businessId} and id in (
    select unnest(broadcast_ids) from chat_contact where business_id = ${businessId} and id = ${contactId})
  order by id for update`

/** Those who write messages take the conversation first and the contact last; so does who deletes. */
export const lockConversation = (db: Db, businessId: string, contactId: string) =>
  db`
  select 1 from chat_conversation where business_id = ${businessId} and id = ${contactId} for update`.then(
    rows => rows.length > 0,
  )

/** With the key: nothing can be written to the contact any more. */
export const lockWhole = (db: Db, businessId: string, id: string) => db`
  select 1 from chat_contact where business_id = ${businessId} and id = ${id} for update`

/** True where a message is on its way at this moment; the others can't set out any more. */
export const lockMessages = (db: Db, businessId: string, contactId: string) =>
  db<{ busy: boolean | null }[]>`
  select bool_or(busy) as busy from (
    select status = 'sending' and lease_until > now() as busy from chat_message
    where business_id = ${businessId} and conversation_id = ${contactId} for update) locked`.then(
    rows => rows[0]?.busy === true,
  )

/** Reports keep counting them: one that never set out as cancelled, one whose outcome nobody knows as unknown. */
export const rememberOutcomes = (db: Db, businessId: string, contactId: string) => db`
  with outcome as materialized (
    select broadcast_id, case status when 'queued' then 'cancelled' when 'sending' then 'unknown' else status end as status, count(*)
    from chat_message where business_id = ${businessId} and conversation_id = ${contactId} and broadcast_id is not null
    group by 1, 2)
  update chat_broadcast broadcast set forgotten = forgotten || (
    select jsonb_object_agg(status, count + coalesce((forgotten ->> status)::int, 0))
    from outcome where broadcast_id = broadcast.id)
  where business_id = ${businessId} and id in (select broadcast_id from outcome)`

/** Everything that is kept about the person; the files they sent too. */
export async function removeAll(db: Db, businessId: string, contactId: string): Promise<void> {
  await db`
    delete from chat_media where business_id = ${businessId} and direction = 'in' and id in (
      select media_id from chat_message
      where business_id = ${businessId} and conversation_id = ${contactId} and media_id is not null)`
  await db`delete from chat_message where business_id = ${businessId} and conversation_id = ${contactId}`
  await db`delete from chat_consent where business_id = ${businessId} and contact_id = ${contactId}`
  await db`delete from chat_conversation where business_id = ${businessId} and id = ${contactId}`
  await db`delete from chat_contact where business_id = ${businessId} and id = ${contactId}`
}
