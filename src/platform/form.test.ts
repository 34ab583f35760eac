import Fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoint, type Form, Raw } from './endpoint.ts'
import { answerProblem, mount } from './mount.ts'
import type { Platform } from './platform.ts'

const app = Fastify({ bodyLimit: 1_000 })
const platform = { log: { error: () => {} } } as unknown as Platform

beforeAll(async () => {
  app.setErrorHandler((error, request, reply) => answerProblem(request, reply, error, platform))
  const echo = endpoint({
    summary: 'Says what it was sent',
    accepts: 'form',
    run: async ({ body }) => new Raw('application/json', JSON.stringify(body as Form)),
  })
  const routes = [['POST', '/echo', echo]] as const
  mount(app, platform, { name: 'echo', base: '', routes, authenticate: undefined, rateLimit: { take: () => ({}) } })
  await app.ready()
})
afterAll(() => app.close())

const post = (payload: string, contentType = 'application/x-www-form-urlencoded') =>
  app.inject({ method: 'POST', url: '/echo', payload, headers: { 'content-type': contentType } })

test('a form is read by its names', async () => {
  const answer = await post('name=J%C3%BCrgen+K&empty=&a=1&a=2')
  expect(answer.json()).toEqual({ name: 'Jürgen K', empty: '', a: '2' })
})

test('a charset beside the type is fine, an empty form has no fields', async () => {
  expect((await post('a=1', 'application/x-www-form-urlencoded; charset=UTF-8')).json()).toEqual({ a: '1' })
  expect((await post('')).json()).toEqual({})
})

test('names of object machinery are only names', async () => {
  const answer = await post('__proto__=x&constructor=y')
  expect(answer.body).toBe('{"__proto__":"x","constructor":"y"}')
})

test.each([
  ['JSON', '{"a":1}', 'application/json', 415],
  ['text', 'a=1', 'text/plain', 415],
  ['too much', `a=${'x'.repeat(1_000)}`, 'application/x-www-form-urlencoded', 413],
  ['a null character', 'a=%00', 'application/x-www-form-urlencoded', 400],
])('%s is refused', async (_, payload, contentType, status) => {
  expect((await post(payload, contentType)).statusCode).toBe(status)
})
