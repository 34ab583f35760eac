import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fillCatalogue } from '../../src/billing/demo-catalogue.ts'
import { billingRoutes } from '../../src/billing/routes.ts'
import type { Route } from '../../src/platform/endpoint.ts'
import { type TestBusiness, type World, world } from '../world.ts'

let w: World
let shop: TestBusiness
let ids: string[]
let idsOf: Map<string, string[]>
beforeAll(async () => {
  w = await world()
  shop = await w.business()
  const theirs = await w.business()
  await fillCatalogue(w.platform, shop)
  await fillCatalogue(w.platform, theirs)
  ids = ['f'.repeat(24)]
  idsOf = new Map()
  for (const table of [
    'product',
    'plan',
    'addon',
    'addon_category',
    'multiplan',
    'coupon',
    'tax',
    'customer',
    'license',
  ])
    for (const business of [shop, theirs]) {
      const rows = await w.db<{ id: string }[]>`
        select id from ${w.db(`billing_${table}`)} where business_id = ${business.id} limit 2`
      ids.push(...rows.map(row => row.id))
      if (business === shop)
        idsOf.set(
          table,
          rows.map(row => row.id),
        )
    }
})
afterAll(() => w.close())

const catalogue = /^\/(product|plan|addon|multiplan|coupon|tax|customer)/
const routes = billingRoutes.filter(([, path]) => catalogue.test(path))

const nastyText = fc.constantFrom(
  '',
  ' ',
  '\u0000',
  '\ud800',
  '💸',
  'null',
  '-1',
  '1e999',
  '0x10',
  '2027-02-31',
  '9999999999999999999999',
  "'; drop table billing_plan; --",
  '%',
  '{"a":1}',
  '[[[[',
  'x'.repeat(300),
  'ß'.repeat(30_000),
  '../../etc/passwd',
  '__proto__',
)
const nastyNumber = fc.constantFrom(0, -0, -1, 1.5, 0.1 + 0.2, 1e21, -1e21, 1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 63)
const junk: fc.Arbitrary<unknown> = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    nastyText,
    fc.string({ unit: 'binary', maxLength: 20 }),
    nastyNumber,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom(0, 1).chain(i => fc.constant(ids[i] ?? '')),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ maxLength: 8 }), tie('value'), { maxKeys: 4 }),
  ),
})).value

interface Shape {
  properties?: Record<string, Shape>
  enum?: unknown[]
  type?: string | string[]
  anyOf?: Shape[]
}

/** Something that may be right for a field: most bodies then get past the door, and reach the rules behind it. */
function likely(shape: Shape, name: string): fc.Arbitrary<unknown> {
  if (shape.anyOf) return fc.oneof(...shape.anyOf.map(one => likely(one, name)))
  if (shape.enum) return fc.constantFrom(...shape.enum)
  if (shape.properties) return body(shape)
  if (/^(product|plan|preferred_plan)_id$/.test(name)) return someId(name.replace(/^preferred_|_id$/g, ''))
  if (/^plans/.test(name)) return fc.array(someId('plan'), { maxLength: 3 })
  const byType: Record<string, fc.Arbitrary<unknown>> = {
    string: fc.oneof(
      ...(name === 'email_id' ? [fc.nat().map(i => `p${i}@example.com`)] : []),
      fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }),
      fc.constantFrom('USD', 'JPY', 'DE', 'KWD', 'https://x.example', '2030-01-01', 'XXXX-XXXX', 'DE123456789'),
      fc.nat().map(i => ids[i % ids.length]),
    ),
    integer: fc.integer({ min: 0, max: 20 }),
    number: fc.constantFrom(0, 1, 9.99, 12.345, 100),
    boolean: fc.boolean(),
    null: fc.constant(null),
    array: fc.array(
      fc.oneof(
        fc.nat().map(i => ids[i % ids.length]),
        fc.string({ maxLength: 5 }),
      ),
      { maxLength: 4 },
    ),
    object: fc.dictionary(fc.string({ maxLength: 5 }), junk, { maxKeys: 3 }),
  }
  return fc.oneof(...[shape.type ?? 'string'].flat().map(type => byType[type] ?? junk))
}

const missing = Symbol('left out')

function body(shape: Shape): fc.Arbitrary<unknown> {
  const fields = Object.entries(shape.properties ?? {}).map(([name, field]) =>
    fc
      .oneof(
        { weight: 30, arbitrary: likely(field, name) },
        { weight: 1, arbitrary: junk },
        { weight: 5, arbitrary: fc.constant(missing) },
      )
      .map(value => [name, value] as const),
  )
  return fc.tuple(...fields).map(pairs => Object.fromEntries(pairs.filter(([, value]) => value !== missing)))
}

/** Which table's ids go where a path or a body names one. */
function tableOf(name: string, path: string): string {
  if (name !== 'id') return name.replace(/_id$/, '')
  return path.startsWith('/addoncategory') ? 'addon_category' : (/^\/(multiplan|coupon|tax)/.exec(path)?.[1] ?? '')
}

const someId = (table: string) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.nat().map(i => idsOf.get(table)?.at(i % (idsOf.get(table)?.length ?? 1)) ?? '') },
    fc.nat().map(i => ids[i % ids.length] ?? ''),
  )

/** Ids that fit, so that the rules are reached; but whatever is deleted must not be what the others need. */
const pathOf = ([method, path]: Route) =>
  fc
    .tuple(
      ...(path.match(/\{\w+\}/g) ?? []).map(name =>
        fc.oneof(
          {
            weight: 6,
            arbitrary: method === 'DELETE' ? fc.constant('f'.repeat(24)) : someId(tableOf(name.slice(1, -1), path)),
          },
          fc.string({ unit: 'binary' }),
        ),
      ),
    )
    .map(values => {
      let i = 0
      return path.replaceAll(/\{\w+\}/g, () => encodeURIComponent((values[i++] ?? '').toWellFormed() || 'x'))
    })

const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc
    .record(
      {
        limit: fc.oneof(nastyNumber.map(String), nastyText),
        page: fc.oneof(nastyNumber.map(String), nastyText),
        email: nastyText,
        is_used: nastyText,
      },
      { requiredKeys: [] },
    )
    .map(fields => {
      const pairs = Object.entries(fields).map(([name, value]) => [name, (value ?? '').slice(0, 300).toWellFormed()])
      return `?${new URLSearchParams(pairs)}`
    }),
)

/** More by `JUNK_RUNS=2000`. */
const runs = Number(process.env.JUNK_RUNS ?? 15)
const answered = new Set<string>()
const understood = new Set([200, 400, 404, 409, 414, 422])

test.each(routes.map(route => [`${route[0]} ${route[1]}`, route] as const))(
  '%s never fails on odd input',
  async (name, route) => {
    const [method, , endpoint] = route
    const sent =
      method === 'GET'
        ? fc.constant(undefined)
        : fc.oneof({ weight: 6, arbitrary: body((endpoint.body ?? {}) as Shape) }, junk)
    await fc.assert(
      fc.asyncProperty(pathOf(route), query, sent, async (path, search, payload) => {
        const answer = await w.app.inject({
          method,
          url: shop.billing.baseUrl + path + search,
          headers: { authorization: shop.billing.authorization, 'content-type': 'application/json' },
          ...(payload !== undefined && { payload: JSON.stringify(payload) }),
        })
        answered.add(`${name} ${answer.statusCode}`)
        if (!understood.has(answer.statusCode))
          throw new Error(
            `${answer.statusCode} ${method} ${path}${search} ${JSON.stringify(payload)}: ${answer.payload}`,
          )
        if (answer.statusCode !== 200)
          expect(answer.json()).toMatchObject({ success: false, status: 'error', requestId: expect.any(String) })
      }),
      { numRuns: runs * (method === 'POST' || method === 'PUT' ? 3 : 1) },
    )
  },
)

test('the rules behind the door were reached: most routes also said yes', () => {
  const said = (status: number) => [...answered].filter(one => one.endsWith(` ${status}`)).length
  expect(said(200)).toBeGreaterThan(routes.length / 3)
  expect(said(422)).toBeGreaterThan(0)
})
