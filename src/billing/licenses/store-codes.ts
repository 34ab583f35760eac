import { type Db, first, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { among } from '../store-among.ts'
import { countRows } from '../store-count.ts'

export interface CodeRow {
  code: string
  /** null: not sold yet */
  subscriptionId: string | null
  assignedAt: Date | null
  createdAt: Date
}

const columns = (db: Db) => db`
  code, subscription_id as "subscriptionId", assigned_at as "assignedAt", created_at as "createdAt"`

export interface NewCodes {
  licenseId: string
  productId: string
  codes: readonly { id: string; code: string }[]
  now: Date
}

/** Answers the codes that are new in the product. Written in the order of the codes, so that two who add some can't wait for each other. */
export const insertCodes = (tx: Tx, businessId: string, { licenseId, productId, codes, now }: NewCodes) => tx<
  { code: string }[]
>`
  insert into billing_license_code (business_id, id, license_id, product_id, code, created_at)
  select ${businessId}, id, ${licenseId}, ${productId}, code, ${now}
  from unnest(${codes.map(({ id }) => id)}::text[], ${codes.map(({ code }) => code)}::text[]) as given (id, code)
  order by code collate "C"
  on conflict (business_id, product_id, code) do nothing
  returning code`

/** Two counts from two indexes, so that no code itself is read. */
export const countsOf = (db: Db, businessId: string, licenseIds: readonly string[]) => db<
  { licenseId: string; total: number; used: number }[]
>`
  select license.id as "licenseId", every.count as total, every.count - free.count as used
  from unnest(${licenseIds as string[]}::text[]) as license (id), lateral (
    select count(*)::int from billing_license_code where business_id = ${businessId} and license_id = license.id) as every,
  lateral (
    select count(*)::int from billing_license_code
    where business_id = ${businessId} and license_id = license.id and subscription_id is null) as free`

export const firstCodesOf = (db: Db, businessId: string, licenseIds: readonly string[], limit: number) => db<
  { licenseId: string; code: string; used: boolean }[]
>`
  select license.id as "licenseId", code.code, code.used
  from unnest(${licenseIds as string[]}::text[]) as license (id), lateral (
    select id, code, subscription_id is not null as used from billing_license_code
    where business_id = ${businessId} and license_id = license.id order by id limit ${limit}) as code
  order by license.id, code.id`

export async function pageOfCodes(
  db: Db,
  businessId: string,
  { licenseId, used }: { licenseId: string; used: boolean | undefined },
  page: PageRequest,
): Promise<Page<CodeRow>> {
  const where = db`business_id = ${businessId} and license_id = ${licenseId}
    ${used === undefined ? db`` : used ? db`and subscription_id is not null` : db`and subscription_id is null`}`
  const [rows, total] = await Promise.all([
    db<CodeRow[]>`
      select ${columns(db)} from billing_license_code where ${where}
      order by id limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_license_code where ${where}`),
  ])
  return { rows, total }
}

export const lockCode = (tx: Tx, businessId: string, { licenseId, code }: { licenseId: string; code: string }) =>
  tx<CodeRow[]>`
  select ${columns(tx)} from billing_license_code
  where business_id = ${businessId} and license_id = ${licenseId} and code = ${code} for update`.then(first)

export const deleteCode = (tx: Tx, businessId: string, { licenseId, code }: { licenseId: string; code: string }) => tx`
  delete from billing_license_code where business_id = ${businessId} and license_id = ${licenseId} and code = ${code}`

export const codesOfSubscriptions = (db: Db, businessId: string, subscriptionIds: readonly string[]) => db<
  { subscriptionId: string; code: string }[]
>`
  select subscription_id as "subscriptionId", code from billing_license_code
  where business_id = ${businessId} and subscription_id ${among(db, subscriptionIds)}`

export interface Sale {
  licenseId: string
  subscriptionId: string
  now: Date
}

/**
 * Gives the oldest free code of a pool to a subscription. Codes that other sales hold are passed over; with `wait` they
 * are waited for, because such a sale may yet fail and give its code back.
 */
export const takeFreeCode = (tx: Tx, businessId: string, sale: Sale, { wait }: { wait: boolean }) =>
  tx<{ code: string }[]>`
  update billing_license_code set subscription_id = ${sale.subscriptionId}, assigned_at = ${sale.now}
  where business_id = ${businessId} and license_id = ${sale.licenseId} and id = (
    select id from billing_license_code
    where business_id = ${businessId} and license_id = ${sale.licenseId} and subscription_id is null
    order by created_at, id limit 1 for update ${wait ? tx`` : tx`skip locked`})
  returning code`.then(first)

export const insertSoldCode = (
  tx: Tx,
  businessId: string,
  sale: Sale & { id: string; productId: string; code: string },
) =>
  tx<{ code: string }[]>`
  insert into billing_license_code (business_id, id, license_id, product_id, code, subscription_id, assigned_at, created_at)
  values (${businessId}, ${sale.id}, ${sale.licenseId}, ${sale.productId}, ${sale.code}, ${sale.subscriptionId},
    ${sale.now}, ${sale.now})
  on conflict (business_id, product_id, code) do nothing
  returning code`.then(first)
