import { type Db, first, only, type Tx } from '../../platform/database.ts'
import type { PageRequest } from '../../platform/page.ts'
import type { Page } from '../envelope.ts'
import { countRows } from '../store-count.ts'

export interface LicenseRow {
  id: string
  productId: string
  name: string
  method: 'list' | 'auto'
  pattern: string
  status: 'active' | 'inactive'
  /** null: for every plan of the product */
  planId: string | null
  createdAt: Date
  updatedAt: Date
}

const columns = (db: Db) => db`
  id, product_id as "productId", name, method, pattern, status, plan_id as "planId", created_at as "createdAt",
  updated_at as "updatedAt"`

export const insertLicense = (tx: Tx, businessId: string, license: LicenseRow) =>
  tx<LicenseRow[]>`
  insert into billing_license (business_id, id, product_id, name, method, pattern, status, plan_id, created_at, updated_at)
  values (${businessId}, ${license.id}, ${license.productId}, ${license.name}, ${license.method}, ${license.pattern},
    ${license.status}, ${license.planId}, ${license.createdAt}, ${license.updatedAt})
  returning ${columns(tx)}`.then(only)

const ofProduct = (db: Db, businessId: string, productId: string) =>
  db`business_id = ${businessId} and product_id = ${productId} and deleted_at is null`

export const findLicense = (db: Db, businessId: string, { productId, id }: { productId: string; id: string }) =>
  db<LicenseRow[]>`
  select ${columns(db)} from billing_license where ${ofProduct(db, businessId, productId)} and id = ${id}`.then(first)

export const lockLicense = (tx: Tx, businessId: string, { productId, id }: { productId: string; id: string }) =>
  tx<LicenseRow[]>`
  select ${columns(tx)} from billing_license where ${ofProduct(tx, businessId, productId)} and id = ${id}
  for update`.then(first)

export async function pageOfLicenses(
  db: Db,
  businessId: string,
  productId: string,
  page: PageRequest,
): Promise<Page<LicenseRow>> {
  const where = ofProduct(db, businessId, productId)
  const [rows, total] = await Promise.all([
    db<LicenseRow[]>`
      select ${columns(db)} from billing_license where ${where} order by id desc limit ${page.limit} offset ${page.offset}`,
    countRows(db, page, db`select from billing_license where ${where}`),
  ])
  return { rows, total }
}

/** The pools a sale of a plan takes its code from: those of the plan before those of every plan, older before newer. */
export const licensesForPlan = (db: Db, businessId: string, plan: { productId: string; planId: string }) => db<
  LicenseRow[]
>`
  select ${columns(db)} from billing_license
  where ${ofProduct(db, businessId, plan.productId)} and status = 'active'
    and (plan_id = ${plan.planId} or plan_id is null)
  order by plan_id is null, id`

export const updateLicense = (tx: Tx, businessId: string, license: LicenseRow) =>
  tx<LicenseRow[]>`
  update billing_license
  set name = ${license.name}, method = ${license.method}, pattern = ${license.pattern}, status = ${license.status},
    plan_id = ${license.planId}, updated_at = ${license.updatedAt}
  where business_id = ${businessId} and id = ${license.id}
  returning ${columns(tx)}`.then(only)

/** Codes that were sold stay with their subscriptions. */
export async function hideLicense(tx: Tx, businessId: string, id: string, now: Date): Promise<void> {
  await tx`
    delete from billing_license_code
    where business_id = ${businessId} and license_id = ${id} and subscription_id is null`
  await tx`update billing_license set deleted_at = ${now} where business_id = ${businessId} and id = ${id}`
}
