import { type Db, only } from '../../platform/database.ts'
import { blockBits } from './bitmaps.ts'

export const leaseSlots = (db: Db, businessId: string, count: number) =>
  db<{ start: number }[]>`
  insert into email_slot as s (business_id, next) values (${businessId}, ${count})
  on conflict (business_id) do update set next = s.next + excluded.next
  returning next - ${count}::int as start`.then(rows => only(rows).start)

/** A whole block that nobody is in; what was left of the block before is never used. */
export const leaseBlock = (db: Db, businessId: string) =>
  db<{ start: number }[]>`
  insert into email_slot as s (business_id, next) values (${businessId}, ${blockBits})
  on conflict (business_id) do update set next = (s.next + ${blockBits - 1}::int) / ${blockBits}::int * ${blockBits}::int + ${blockBits}::int
  returning next - ${blockBits}::int as start`.then(rows => only(rows).start)
