import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { billingService } from '../../src/billing/service.ts'
import { chatService } from '../../src/chat/service.ts'
import { emailService } from '../../src/email/service.ts'
import type { Service } from '../../src/platform/service.ts'
import { type World, world } from '../world.ts'

/** The registered routes against the specification, both ways. */

const read = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8')
const method = '(GET|POST|PUT|DELETE)'

/** Parameters have many names for one thing: /lists/{list id} and /lists/{id} are the same route, and so is a trailing slash. */
const normal = (verb: string, path: string) =>
  `${verb} ${path
    .replaceAll(/\{[^}]*\}/g, '{}')
    .replace(/\?.*$/, '')
    .replace(/(.)\/$/, '$1')}`

function specified(name: string): Set<string> {
  const text = read(`specification/${name}.md`)
  const headings = [...text.matchAll(new RegExp(`^### ${method} (/[^:\\s]*(?:\\{[^}]*\\}[^:\\s]*)*)`, 'gm'))]
  const listed =
    /### Endpoints that exist but are listed only by method and path\n\n([\s\S]*?)\n\n/.exec(text)?.[1] ?? ''
  const named = [...listed.matchAll(new RegExp(`${method} (/(?:\\{[^}]*\\}|[^\\s;,.()])*)`, 'g'))]
  return new Set([...headings, ...named].map(([, verb = '', path = '']) => normal(verb, path)))
}

/** What is ours besides is written down, in the decisions or in the list of our own routes. */
const ours = read('api.md')

describe.each([emailService, chatService, billingService] as Service[])('$name', service => {
  const registered = service.routes.map(([verb, path]) => normal(verb, path))

  test('every operation of the specification is there', () => {
    const wanted = specified(service.name)
    expect(wanted.size).toBeGreaterThan(5)
    expect([...wanted].filter(route => !registered.includes(route))).toEqual([])
  })

  test('every other route is listed in docs/api.md', () => {
    const wanted = specified(service.name)
    const unlisted = service.routes.filter(
      ([verb, path]) => !wanted.has(normal(verb, path)) && !ours.includes(`\`${verb} ${path}\``),
    )
    expect(unlisted.map(([verb, path]) => `${verb} ${path}`)).toEqual([])
  })

  test('no route is written twice', () => {
    expect(registered.filter((route, index) => registered.indexOf(route) !== index)).toEqual([])
  })
})

describe('every route of every service', () => {
  let w: World
  beforeAll(async () => {
    w = await world()
  })
  afterAll(() => w.close())

  test('asks for a key, and answers junk with a clear refusal', async () => {
    const shop = await w.business()
    const wrong: string[] = []
    for (const service of w.services.filter(one => one.name !== 'checkout')) {
      const { authorization } = shop[service.name as 'email']
      for (const [verb, path] of service.routes) {
        // A live stream never ends by itself; it has a test of its own.
        if (path.endsWith('/stream')) continue
        const url = service.base + path.replaceAll(/\{\w+\}/g, '0123456789abcdef01234567')
        const open = await w.app.inject({ method: verb, url })
        if (open.statusCode !== 401) wrong.push(`${verb} ${url} without a key: ${open.statusCode}`)
        for (const payload of verb === 'GET'
          ? [undefined]
          : [undefined, [], { '': null }, 'text', { emails: { a: 1 }, name: 5, to: [], amount: 'x' }]) {
          const answer = await w.app.inject({
            method: verb,
            url,
            headers: { authorization, ...(payload !== undefined && { 'content-type': 'application/json' }) },
            ...(payload !== undefined && { payload: JSON.stringify(payload) }),
          })
          if (answer.statusCode >= 500)
            wrong.push(`${verb} ${url} with ${JSON.stringify(payload)}: ${answer.statusCode} ${answer.payload}`)
        }
      }
    }
    expect(wrong).toEqual([])
  })
})
