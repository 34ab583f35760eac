import { type Db, only } from '../../platform/database.ts'

export const leaseSlots = (db: Db, businessId: string, count: number) =>
  db<{ start: number }[]>`
  insert into email_slot as s (business_id, next) values (${businessId}, ${count})
  on conflict (business_id) do update set next = s.next + excluded.next
  returning next - ${count}::int as start`.then(rows => only(rows).start)
