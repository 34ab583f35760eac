import { expect, test } from 'vitest'
import type { Call } from '../platform/endpoint.ts'
import { notFound } from '../platform/problem.ts'
import { showPage } from './page.ts'

const open = (error: unknown) => {
  const show = showPage('A page', () => Promise.reject(error))
  return show.run({ query: {}, headers: {}, params: {}, log: { error() {} } } as unknown as Call)
}

test('whatever fails is answered by a page with the status that the API would have', async () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  expect(await open(away)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  expect(await open(new Error('a fault of ours'))).toMatchObject({ status: 500 })
  expect(await open(notFound('Page'))).toMatchObject({ status: 404, contentType: 'text/html; charset=utf-8' })
})
