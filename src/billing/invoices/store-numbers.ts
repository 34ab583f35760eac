import { type Db, only, type Tx } from '../../platform/database.ts'

/** The next numbers of this business; taken as late as possible, because everyone else waits for the commit. */
export const takeNumbers = (tx: Tx, businessId: string, count: number) =>
  tx<{ last: bigint }[]>`
  insert into billing_invoice_counter (business_id, last_number) values (${businessId}, ${count})
  on conflict (business_id) do update set last_number = billing_invoice_counter.last_number + ${count}
  returning last_number as last`.then(rows => only(rows).last - BigInt(count) + 1n)

/** The same for a transaction that takes long: nobody waits, and they are noted down until it has used them. */
export const reserveNumbers = (db: Db, businessId: string, count: number) => db`
  with taken as (
    insert into billing_invoice_counter (business_id, last_number) values (${businessId}, ${count})
    on conflict (business_id) do update set last_number = billing_invoice_counter.last_number + ${count}
    returning last_number
  )
  insert into billing_number_reserve (business_id, first_number, last_number)
  select ${businessId}, last_number - ${count} + 1, last_number from taken`

export interface NumberRange {
  first: bigint
  last: bigint
}

/** The next reserved range that nobody is using: it is used up when this transaction commits. */
export const claimRange = (tx: Tx, businessId: string) =>
  tx<NumberRange[]>`
  delete from billing_number_reserve where business_id = ${businessId} and first_number = (
    select first_number from billing_number_reserve where business_id = ${businessId}
    order by first_number limit 1 for update skip locked)
  returning first_number as first, last_number as last`.then(rows => rows[0])

export const returnRange = (tx: Tx, businessId: string, range: NumberRange) => tx`
  insert into billing_number_reserve (business_id, first_number, last_number)
  values (${businessId}, ${range.first}, ${range.last})`
