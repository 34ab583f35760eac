import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { auditEmail } from '../audit.ts'
import { totalsOf } from '../stats/totals.ts'
import { recordActivities } from './activity.ts'
import { isEngaged } from './facets.ts'
import { type Filter, readFilter } from './filter.ts'
import { foldAll, foldChanges } from './fold.ts'
import { indexSearch } from './index-search.ts'
import { pageOfIds, totalOf } from './pages.ts'
import { type FilterQuery, statuses } from './schema.ts'
import { idsByWalk } from './store-filter.ts'
import { readingOf } from './view.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!
const some = <T>(items: readonly T[]): T[] => items.filter(() => Math.random() < 0.4)
const listNames = ['News', 'Offers', 'Events', 'Staff']
const tagNames = ['vip', 'new', 'old', 'shop', 'blog']

const queries: FilterQuery[] = [
  {},
  ...statuses.map(status => ({ status })),
  { lists: 'News' },
  { lists: 'news,OFFERS' },
  { lists: 'News', status: 'subscribed' },
  { tags: 'vip' },
  { tags: ['vip', 'shop'], status: 'unsubscribed' },
  { leadScoreMin: '10' },
  { leadScoreMax: '-1' },
  { leadScoreMin: '-5', leadScoreMax: '37' },
  { leadScoreMin: '0', leadScoreMax: '0', lists: 'Staff' },
  { lists: 'News,Staff', tags: 'new,old', status: 'subscribed', leadScoreMin: '-20', leadScoreMax: '60' },
  { search: 'an' },
  { search: 'ann' },
  { search: 'LEE' },
  { search: 'example', status: 'bounced' },
  { search: 'b', tags: 'vip', leadScoreMin: '1' },
  { search: '%' },
  { segments: 'Warm' },
  { segments: 'warm', lists: 'News', search: 'e' },
  { segments: 'Mixed' },
  { segments: 'Mixed,Other', status: 'subscribed' },
  { segments: 'Other', search: 'ann' },
  { segments: 'Other', search: 'example.com' },
  { search: 'ann1@exam' },
  { search: 'ÖRN' },
  { search: 'عم' },
  { search: 'nobodyhasthis' },
  { lists: 'Nowhere' },
]

/** The quick way to every total and page must equal a look at every row, folded or not. */
async function expectExact(shop: TestBusiness): Promise<void> {
  const reading = await readingOf(w.db, shop)
  const everyone = await w.db<
    {
      id: string
      status: (typeof statuses)[number]
      leadScore: number
      listNumbers: number[]
      tagNumbers: number[]
      engagedAt: Date | null
    }[]
  >`
    select id, status, lead_score as "leadScore", list_numbers as "listNumbers", tag_numbers as "tagNumbers", engaged_at as "engagedAt"
    from email_subscriber where business_id = ${shop.id} and delete_after is null`
  for (const query of queries) {
    const filter: Filter = await readFilter(w.db, shop.id, query, reading.segments)
    const truth = query.lists === 'Nowhere' ? [] : await idsByWalk(w.db, reading, filter, { limit: 100_000, offset: 0 })
    expect([query, await totalOf(w.db, reading, filter)]).toEqual([query, truth.length])
    for (const ways of [undefined, { shortWalk: 0, fewSlots: 0 }]) {
      const page = await pageOfIds(w.db, reading, filter, { page: 2, limit: 3, offset: 3 }, ways)
      expect({ query, ids: page.ids }).toEqual({ query, ids: truth.slice(3, 6) })
    }
  }
  for (const segment of (await shop.email.get('/segments')).body.data.segments) {
    const filter = await readFilter(w.db, shop.id, { segments: segment.id }, reading.segments)
    const truth = await idsByWalk(w.db, reading, filter, { limit: 100_000, offset: 0 })
    expect([segment.name, segment.count]).toEqual([segment.name, truth.length])
  }
  for (const kind of ['all', 'list', 'tag'] as const) {
    const totals = await totalsOf(w.db, shop.id, kind, reading.now)
    const numbers =
      kind === 'all' ? [0] : [...new Set(everyone.flatMap(one => (kind === 'list' ? one.listNumbers : one.tagNumbers)))]
    for (const number of numbers) {
      const own = everyone.filter(
        one => kind === 'all' || (kind === 'list' ? one.listNumbers : one.tagNumbers).includes(number),
      )
      expect({ kind, ...totals.get(number), updatedAt: null }).toEqual({
        kind,
        number,
        total: own.length,
        ...Object.fromEntries(statuses.map(status => [status, own.filter(one => one.status === status).length])),
        scoreSum: own.reduce((sum, one) => sum + one.leadScore, 0),
        hot: own.filter(one => one.leadScore >= 50).length,
        cold: own.filter(one => one.leadScore <= 10).length,
        engaged: own.filter(one => isEngaged(one, reading.now)).length,
        updatedAt: null,
      })
    }
  }
}

async function changeSomething(shop: TestBusiness, lists: Record<string, string>, now: Date): Promise<void> {
  const people = await w.db<{ id: string; email: string }[]>`
    select id, email from email_subscriber where business_id = ${shop.id} and delete_after is null order by random() limit 2`
  const [one, two] = people
  const dice = Math.random()
  if (!one || !two || dice < 0.4) {
    const email = `${pick(['ann', 'Bob', 'Lee_', '100%'])}${Math.floor(Math.random() * 40)}@example.com`
    const answer = await shop.email.post('/subscribers', {
      email,
      firstName: pick(['Ann', 'Anna', 'Björn', 'عمر', '']),
      lastName: pick(['Lee', 'Bell', "O'Hara", '']),
      leadScore: Math.floor(Math.random() * 120) - 30,
      status: pick(statuses),
      tags: some(tagNames),
      lists: some(listNames),
    })
    expect(answer.status).toBeLessThan(300)
  } else if (dice < 0.55) {
    const body = { tagsToAdd: some(tagNames), tagsToRemove: some(tagNames), leadScore: Math.floor(Math.random() * 99) }
    expect((await shop.email.put(`/subscribers/${encodeURIComponent(one.email)}`, body)).status).toBe(200)
  } else if (dice < 0.7) {
    const body = { subscriberId: one.id, fromListIds: [lists.News, lists.Staff], toListIds: [lists[pick(listNames)]] }
    expect((await shop.email.post('/lists/move-subscriber', body)).status).toBe(200)
  } else if (dice < 0.8) {
    expect((await shop.email.delete('/subscribers', { subscriberIds: [one.id] })).body.data.deleted).toBe(1)
  } else {
    const activity = { at: now, campaignId: 'c', campaignName: 'C', isFirst: true, isMachine: Math.random() < 0.3 }
    await w.db.begin(tx =>
      recordActivities(tx, shop.id, [
        { ...activity, subscriberId: one.id, kind: pick(['open', 'click', 'delivered', 'unsubscribe'] as const) },
        { ...activity, subscriberId: two.id, kind: pick(['open', 'bounce', 'complaint'] as const), hard: true },
      ]),
    )
  }
}

test('totals, pages and statistics equal a look at every row, whatever is folded and wherever the clock stands', async () => {
  const shop = await w.business({ testMode: true })
  let now = new Date('2026-03-01T10:00:00.000Z')
  await shop.account.put('/clock', { now: now.toISOString() })
  const lists: Record<string, string> = {}
  for (const name of listNames) lists[name] = (await shop.email.post('/lists', { name })).body.data.list.id
  const rules = {
    match: 'any',
    conditions: [
      { field: 'leadScore', operator: 'gte', value: 40 },
      { field: 'tags', operator: 'equals', value: 'vip' },
    ],
  }
  expect((await shop.email.post('/segments', { name: 'Warm', rules })).status).toBe(201)
  const mixed = {
    match: 'none',
    conditions: [
      { field: 'tags', operator: 'not_in', value: ['vip', 'shop'] },
      { field: 'leadScore', operator: 'lt', value: 5.5 },
      { match: 'all', conditions: [rules, { field: 'status', operator: 'contains', value: 'SUBSCRIBED' }] },
      { field: 'lists', operator: 'is_not_set' },
    ],
  }
  expect((await shop.email.post('/segments', { name: 'Mixed', rules: mixed })).status).toBe(201)
  const other = {
    match: 'all',
    conditions: [
      { field: 'firstName', operator: 'starts_with', value: 'an' },
      { field: 'tags', operator: 'is_set' },
    ],
  }
  expect((await shop.email.post('/segments', { name: 'Other', rules: other })).status).toBe(201)
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 15; i++) await changeSomething(shop, lists, now)
    await expectExact(shop)
    if (round % 3 === 0) await foldAll(w.db, shop.id, now)
    if (round % 3 === 1) await foldChanges(w.db, shop.id, now)
    if (round % 2 === 0) await indexSearch(w.db, shop.id, 10)
    now = new Date(now.getTime() + 20 * 86_400_000)
    await shop.account.put('/clock', { now: now.toISOString() })
    await expectExact(shop)
    expect(await auditEmail(w.platform, shop.id)).toEqual([])
  }
})
