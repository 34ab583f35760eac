import type { Static } from 'typebox'
import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import { type Database, type Db, only, type Tx } from '../../platform/database.ts'
import { emit } from '../../platform/events.ts'
import { newId, newIds } from '../../platform/ids.ts'
import type { PageRequest } from '../../platform/page.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import type { Page } from '../envelope.ts'
import { checkPlansOfProduct } from '../plans/plans.ts'
import { getProduct, lockProductForUse } from '../products/products.ts'
import { checkPattern, codesTaken, defaultPattern, makeCode, readCodes } from './codes.ts'
import type { CodeSchema, LicenseChanges, LicenseFields, LicenseSchema } from './schema.ts'
import type { LicenseRow } from './store.ts'
import * as store from './store.ts'
import type { CodeRow } from './store-codes.ts'
import * as codeStore from './store-codes.ts'

/**
 * Spec silent: a licence is a pool of codes of a product. A code is free until a sale takes it, then used for good. The pool of
 * method `list` holds the codes that were given; that of method `auto` makes one when a sale finds none.
 */
export type License = Static<typeof LicenseSchema>

/** Spec silent: a pool may hold a hundred thousand codes, so a licence shows its first ones; /codes shows them all. */
const mostCodesShown = 1_000

export function createLicense(
  db: Database,
  business: Business,
  productId: string,
  fields: LicenseFields,
): Promise<License> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    await lockProductForUse(tx, business.id, productId)
    const blank: LicenseRow = {
      id: newId(),
      productId,
      name: '',
      method: 'list',
      pattern: '',
      status: 'active',
      planId: null,
      createdAt: now,
      updatedAt: now,
    }
    const license = await store.insertLicense(tx, business.id, await withChanges(tx, business.id, blank, fields))
    await addCodes(tx, business.id, license, fields)
    return tell(tx, business.id, 'license_create', license)
  })
}

export async function getLicense(
  db: Db,
  businessId: string,
  { productId, id }: { productId: string; id: string },
): Promise<License> {
  const license = await getRow(db, businessId, { productId, id })
  return only(await showLicenses(db, businessId, [license]))
}

export async function pageOfLicenses(
  db: Db,
  businessId: string,
  productId: string,
  page: PageRequest,
): Promise<Page<License>> {
  await getProduct(db, businessId, productId)
  const { rows, total } = await store.pageOfLicenses(db, businessId, productId, page)
  return { rows: await showLicenses(db, businessId, rows), total }
}

/** Codes that are given are added to the pool; the others stay. */
export function updateLicense(
  db: Database,
  business: Business,
  { productId, id }: { productId: string; id: string },
  changes: LicenseChanges,
): Promise<License> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    await lockProductForUse(tx, business.id, productId)
    const before = (await store.lockLicense(tx, business.id, { productId, id })) ?? fail(notFound('License'))
    const after = await withChanges(tx, business.id, { ...before, updatedAt: now }, changes)
    const license = await store.updateLicense(tx, business.id, after)
    await addCodes(tx, business.id, license, changes)
    return tell(tx, business.id, 'license_update', license)
  })
}

/** Codes that were sold stay with their subscriptions. */
export function deleteLicense(
  db: Database,
  business: Business,
  { productId, id }: { productId: string; id: string },
): Promise<License> {
  return db.begin(async tx => {
    const now = await nowFor(tx, business)
    await lockProductForUse(tx, business.id, productId)
    const license = (await store.lockLicense(tx, business.id, { productId, id })) ?? fail(notFound('License'))
    const told = await tell(tx, business.id, 'license_delete', license)
    await store.hideLicense(tx, business.id, id, now)
    return told
  })
}

export async function pageOfCodes(
  db: Db,
  businessId: string,
  { productId, id, used }: { productId: string; id: string; used: boolean | undefined },
  page: PageRequest,
): Promise<Page<CodeRow>> {
  const license = await getRow(db, businessId, { productId, id })
  return codeStore.pageOfCodes(db, businessId, { licenseId: license.id, used }, page)
}

export function deleteCode(
  db: Database,
  businessId: string,
  { productId, id, code }: { productId: string; id: string; code: string },
): Promise<CodeRow> {
  return db.begin(async tx => {
    const license = await getRow(tx, businessId, { productId, id })
    const row = (await codeStore.lockCode(tx, businessId, { licenseId: license.id, code })) ?? fail(notFound('Code'))
    if (row.subscriptionId !== null)
      throw unprocessable('license_code_used', `The code "${code}" is sold, so it can't be deleted.`)
    await codeStore.deleteCode(tx, businessId, { licenseId: license.id, code })
    return row
  })
}

async function getRow(db: Db, businessId: string, path: { productId: string; id: string }): Promise<LicenseRow> {
  await getProduct(db, businessId, path.productId)
  return (await store.findLicense(db, businessId, path)) ?? fail(notFound('License'))
}

async function withChanges(
  tx: Tx,
  businessId: string,
  license: LicenseRow,
  changes: LicenseChanges,
): Promise<LicenseRow> {
  const { plan_id: planId } = changes
  if (planId) await checkPlansOfProduct(tx, businessId, license.productId, { ids: [planId], field: 'plan_id' })
  const method = changes.method ?? license.method
  return {
    ...license,
    name: changes.name ?? license.name,
    method,
    pattern: method === 'auto' ? checkPattern(changes.pattern ?? (license.pattern || defaultPattern)) : '',
    status: changes.status ?? license.status,
    planId: planId === undefined ? license.planId : planId || null,
  }
}

async function addCodes(tx: Tx, businessId: string, license: LicenseRow, changes: LicenseChanges): Promise<void> {
  const given = changes.license_codes === undefined ? [] : readCodes(changes.license_codes)
  await insert(given, taken => {
    throw codesTaken(taken, 'is in a licence of this product already')
  })
  const quantity = changes.quantity ?? 0
  if (quantity > 0 && license.method !== 'auto')
    throw unprocessable(
      'license_not_auto',
      'Codes are made only by licences of method auto. Give license_codes instead.',
      [{ field: 'quantity', message: 'is for method auto only' }],
    )
  // A made code that exists already is made anew; with eight random characters that is next to never.
  for (let missing = quantity; missing > 0; ) {
    const made = new Set(Array.from({ length: missing }, () => makeCode(license.pattern)))
    missing -= await insert([...made], () => {})
  }

  async function insert(codes: readonly string[], refuse: (taken: string[]) => void): Promise<number> {
    if (codes.length === 0) return 0
    const ids = newIds(codes.length)
    const rows = await codeStore.insertCodes(tx, businessId, {
      licenseId: license.id,
      productId: license.productId,
      codes: codes.map((code, i) => ({ id: ids[i]!, code })),
      now: license.updatedAt,
    })
    const added = new Set(rows.map(row => row.code))
    if (added.size < codes.length) refuse(codes.filter(code => !added.has(code)))
    return added.size
  }
}

async function showLicenses(db: Db, businessId: string, rows: readonly LicenseRow[]): Promise<License[]> {
  const ids = rows.map(row => row.id)
  const [counts, codes] = await Promise.all([
    codeStore.countsOf(db, businessId, ids),
    codeStore.firstCodesOf(db, businessId, ids, mostCodesShown),
  ])
  const countOf = new Map(counts.map(count => [count.licenseId, count]))
  const codesOf = Map.groupBy(codes, code => code.licenseId)
  return rows.map(row => ({
    id: row.id,
    product_id: row.productId,
    name: row.name,
    method: row.method,
    pattern: row.pattern,
    status: row.status,
    total_license: countOf.get(row.id)?.total ?? 0,
    used_license: countOf.get(row.id)?.used ?? 0,
    license_codes: (codesOf.get(row.id) ?? []).map(({ code, used }) => ({ code, is_used: used ? 'yes' : 'no' })),
    plan_id: row.planId ?? '',
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }))
}

export const showCode = (row: CodeRow): Static<typeof CodeSchema> => ({
  code: row.code,
  is_used: row.subscriptionId === null ? 'no' : 'yes',
  subscription_id: row.subscriptionId ?? '',
  assignedAt: row.assignedAt,
  createdAt: row.createdAt,
})

/** The event leaves the codes out: whoever receives webhooks need not hold what is sold. */
async function tell(tx: Tx, businessId: string, type: string, row: LicenseRow): Promise<License> {
  const license = only(await showLicenses(tx, businessId, [row]))
  const data = { ...license, license_codes: [] }
  await emit(tx, { businessId, type, source: 'api', objectId: row.id, data, at: row.updatedAt })
  return license
}
