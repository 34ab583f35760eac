import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { newId } from '../../platform/ids.ts'
import { auditEmail } from '../audit.ts'
import { blockBits } from './bitmaps.ts'
import type { Filter } from './filter.ts'
import { foldChanges } from './fold.ts'
import { indexSearch } from './index-search.ts'
import { pageOfIds } from './pages.ts'
import { statuses } from './schema.ts'
import * as store from './store.ts'
import { idsByWalk } from './store-filter.ts'
import { readingOf } from './view.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const names = ['Ann', 'Anna', 'Vijuvi', 'Juviju', '']
const person = fc.record({
  block: fc.nat(4),
  /** few moments, in no order: many are created at the same one */
  moment: fc.nat(3),
  status: fc.constantFrom(...statuses),
  leadScore: fc.integer({ min: -3, max: 20 }),
  list: fc.nat(3),
  tag: fc.nat(2),
  name: fc.constantFrom(...names),
})
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ create: fc.array(person, { minLength: 1, maxLength: 8 }) }) },
  { weight: 3, arbitrary: fc.record({ remove: fc.nat(200) }) },
  { weight: 3, arbitrary: fc.record({ change: fc.nat(200), leadScore: fc.integer({ min: -3, max: 20 }) }) },
  { weight: 3, arbitrary: fc.constant('fold' as const) },
  { weight: 1, arbitrary: fc.constant('index' as const) },
)

const filters: Filter[] = [
  {},
  { status: 'bounced' },
  { listNumbers: [1] },
  { listNumbers: [1, 2], tagNumbers: [1] },
  { listNumbers: [2], status: 'subscribed', scoreMin: 2, scoreMax: 15 },
  { tagNumbers: [0, 2], scoreMin: 5 },
  { tagNumbers: [1], listNumbers: [0, 3], scoreMax: 5 },
  { search: 'an' },
  { search: 'vijuvi' },
  { search: 'ann', listNumbers: [1, 2], scoreMin: 0 },
  { search: 'juviju', status: 'subscribed' },
]
const allWays = [
  { shortWalk: 1_000, fewSlots: 2_000 },
  { shortWalk: 0, fewSlots: 0 },
]

const rowOf = ({
  list,
  tag,
  ...rest
}: Pick<store.NewRow, 'slot' | 'firstName' | 'leadScore' | 'status'> & {
  list: number
  tag: number
}): store.NewRow => ({
  ...rest,
  id: newId(),
  email: `${rest.slot}@example.com`,
  lastName: '',
  mobile: '',
  country: '',
  city: '',
  dateOfBirth: null,
  listNumbers: [list],
  tagNumbers: [tag],
  source: 'api',
  customFields: {},
})

async function expectExact(shop: TestBusiness): Promise<void> {
  const reading = await readingOf(w.db, shop)
  for (const filter of filters) {
    const truth = await idsByWalk(w.db, reading, filter, { limit: 1_000, offset: 0 })
    for (const ways of allWays)
      for (const { page, limit } of [
        { page: 1, limit: 4 },
        { page: 3, limit: 5 },
      ]) {
        const offset = (page - 1) * limit
        const found = await pageOfIds(w.db, reading, filter, { page, limit, offset }, ways)
        expect([filter, found]).toEqual([filter, { total: truth.length, ids: truth.slice(offset, offset + limit) }])
      }
  }
}

test('pages are the newest who match, whenever people of a block were created and whatever is folded', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async steps => {
      const shop = await w.business()
      const reading = await readingOf(w.db, shop)
      const start = reading.now.getTime()
      const ids: string[] = []
      const used = new Map<number, number>()
      for (const one of steps) {
        if (one === 'fold') await foldChanges(w.db, shop.id, new Date(start), { wait: true })
        else if (one === 'index') await indexSearch(w.db, shop.id, 20)
        else if ('create' in one)
          for (const { block, moment, list, tag, name, ...rest } of one.create) {
            const place = used.get(block) ?? 0
            used.set(block, place + 1)
            const row = rowOf({ ...rest, slot: block * blockBits + place * 97, firstName: name, list, tag })
            await store.insert(w.db, shop.id, row, new Date(start + moment * 1_000))
            ids.push(row.id)
          }
        else {
          const id = ids[('remove' in one ? one.remove : one.change) % Math.max(1, ids.length)]
          if (!id) continue
          if ('change' in one) await store.update(w.db, reading, { id }, { leadScore: one.leadScore, firstName: 'Ann' })
          else await store.markDeleted(w.db, shop.id, { ids: [id], emails: [] }, reading.now, new Date(start + 1))
        }
      }
      await expectExact(shop)
      await foldChanges(w.db, shop.id, new Date(start), { wait: true })
      await expectExact(shop)
      expect(await auditEmail(w.platform, shop.id)).toEqual([])
    }),
    { numRuns: 4, endOnFailure: true },
  )
})

test('people of one moment stand in the order of their ids, whatever block they are in', async () => {
  const shop = await w.business()
  const { now } = await readingOf(w.db, shop)
  for (let i = 0; i < 12; i++) {
    const slot = (i % 4) * blockBits + i
    const row = rowOf({ slot, firstName: 'Ann', leadScore: 3, status: 'subscribed', list: 1 + (i % 2), tag: 1 })
    await store.insert(w.db, shop.id, row, now)
  }
  await foldChanges(w.db, shop.id, now, { wait: true })
  await expectExact(shop)
})
