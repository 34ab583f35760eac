import type { Db } from '../../platform/database.ts'

/** Says what this process wants of the number for the next moment, and answers what the others want. */
export const shareNumber = (
  db: Db,
  businessId: string,
  { settingId, processId, wanted, seconds }: { settingId: string; processId: string; wanted: number; seconds: number },
) =>
  db<{ others: number }[]>`
  with mine as (
    insert into chat_pace (business_id, setting_id, process_id, wanted, until)
    values (${businessId}, ${settingId}, ${processId}, ${wanted}, now() + ${seconds} * interval '1 second')
    on conflict (business_id, setting_id, process_id) do update set wanted = excluded.wanted, until = excluded.until)
  select coalesce(sum(wanted), 0)::float8 as others from chat_pace
  where business_id = ${businessId} and setting_id = ${settingId} and process_id <> ${processId} and until > now()`.then(
    rows => rows[0]?.others ?? 0,
  )

export const purgePace = (db: Db, businessId: string) => db`
  delete from chat_pace where business_id = ${businessId} and until < now() - interval '1 hour'`
