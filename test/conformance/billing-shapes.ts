import { expect } from 'vitest'
import type { Answer, TestBusiness } from '../world.ts'

/** What the conformance blocks of billing share: shapes of answers and a shop that sells something. */

export const id = expect.stringMatching(/^[0-9a-f]{24}$/)
export const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

/** The success envelope and nothing besides. */
export function expectOk(answer: Answer, message?: string): void {
  expect(answer.body, JSON.stringify(answer.body)).toMatchObject({
    status: 'success',
    message: message ?? expect.any(String),
  })
  expect(answer.status).toBe(200)
}

export function expectRefused(answer: Answer, status: number, code: string, field?: string): void {
  expect(answer.body, JSON.stringify(answer.body)).toMatchObject({
    success: false,
    status: 'error',
    code,
    message: expect.any(String),
    requestId: expect.any(String),
    ...(field !== undefined && { errors: expect.arrayContaining([{ field, message: expect.any(String) }]) }),
  })
  expect(answer.status).toBe(status)
}

export const page = (page: number, limit: number, totalCount: number) => ({
  page,
  limit,
  totalCount,
  totalPages: Math.ceil(totalCount / limit),
  hasNextPage: page * limit < totalCount,
  hasPrevPage: page > 1,
})

/** Every list of billing: default limit, bounds, cap, order, isolation. `paths` lists rows that `make` creates. */
export async function expectPages(
  shop: TestBusiness,
  path: string,
  make: (i: number) => Promise<string>,
): Promise<void> {
  const separator = path.includes('?') ? '&' : '?'
  const at = (query: string) => shop.billing.get(path + separator + query)
  const ids: string[] = []
  for (let i = 0; i < 12; i++) ids.unshift(await make(i))
  const rows = (answer: Answer) => answer.body.data.map((row: { id: string }) => row.id)

  const byDefault = await shop.billing.get(path)
  expectOk(byDefault)
  expect(rows(byDefault)).toEqual(ids.slice(0, 10))
  expect(byDefault.body.pagination).toEqual(page(1, 10, 12))
  const second = await at('page=2')
  expect(rows(second)).toEqual(ids.slice(10))
  expect(second.body.pagination).toEqual(page(2, 10, 12))
  expect(rows(await at('limit=1&page=12'))).toEqual(ids.slice(11))
  const beyond = await at('page=999999')
  expectOk(beyond)
  expect(beyond.body.data).toEqual([])
  const capped = await at('limit=101')
  expect(capped.body.pagination.limit).toBe(100)
  expect(rows(capped)).toEqual(ids)
  for (const wrong of ['limit=0', 'limit=-1', 'limit=abc', 'limit=1.5', 'page=0', 'page=-1', 'page=abc', 'limit='])
    expectRefused(await at(wrong), 400, 'validation_failed', wrong.split('=')[0])
}

export interface Shop {
  productId: string
  planId: string
}

let count = 0
/** A name nobody else has. */
export const fresh = (what: string) => `${what} ${++count}`

export async function makeProduct(shop: TestBusiness, name = fresh('Product')): Promise<string> {
  const answer = await shop.billing.post('/product/create', { product_name: name })
  expectOk(answer)
  return answer.body.data.id
}

export async function makePlan(shop: TestBusiness, productId: string, fields: object = {}): Promise<string> {
  const answer = await shop.billing.post('/plan/create', {
    product_id: productId,
    plan_name: 'Monthly',
    plan_code: fresh('plan'),
    price: 10,
    ...fields,
  })
  expectOk(answer)
  return answer.body.data.id
}
