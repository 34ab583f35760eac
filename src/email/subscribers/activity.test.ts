import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { auditEmail } from '../audit.ts'
import { emailDemo } from '../demo.ts'
import { type Activity, maxActivity, recordActivities } from './activity.ts'
import { foldAll, foldChanges } from './fold.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const activity = (subscriberId: string, kind: Activity['kind'], more: Partial<Activity> = {}): Activity => ({
  subscriberId,
  kind,
  at: new Date(),
  campaignId: 'c1',
  campaignName: 'Spring',
  isFirst: true,
  isMachine: false,
  ...more,
})
const record = (shop: TestBusiness, ...activities: Activity[]) =>
  w.db.begin(tx => recordActivities(tx, shop.id, activities))
const add = async (shop: TestBusiness, email: string) => (await shop.email.post('/subscribers', { email })).body.data
const look = async (shop: TestBusiness, id: string) => (await shop.email.get(`/subscribers/${id}`)).body.data

test('counts, history, score and engagement follow what mail did; machines count for nothing but opens', async () => {
  const shop = await w.business()
  const { _id: id } = await add(shop, 'a@b.example')
  await record(shop, activity(id, 'sent'), activity(id, 'delivered'), activity(id, 'open', { isMachine: true }))
  expect(await look(shop, id)).toMatchObject({ leadScore: 0, totalSent: 1, totalDelivered: 1, totalOpens: 1 })
  expect((await shop.email.get('/subscribers/stats')).body.data.engagedSubscribers).toBe(0)
  await record(
    shop,
    activity(id, 'open', { isFirst: false }),
    activity(id, 'click'),
    activity(id, 'sent', { campaignId: 'c2', campaignName: 'Summer' }),
  )
  const after = await look(shop, id)
  expect(after).toMatchObject({
    leadScore: 15,
    totalSent: 2,
    totalOpens: 2,
    totalUniqueOpens: 1,
    totalClicks: 1,
    totalUniqueClick: 1,
  })
  expect(after.campaignDetails.map((one: { campaignName: string }) => one.campaignName)).toEqual(['Summer', 'Spring'])
  expect(after.activity[0]).toEqual({
    type: expect.any(String),
    campaignId: expect.any(String),
    campaignName: expect.any(String),
    isMachine: false,
    createdAt: expect.any(String),
  })
  expect((await shop.email.get('/subscribers/stats')).body.data.engagedSubscribers).toBe(1)
  await record(
    shop,
    ...Array.from({ length: 50 }, (_, i) => activity(id, 'delivered', { at: new Date(Date.now() + i) })),
  )
  expect((await look(shop, id)).activity).toHaveLength(maxActivity)
})

test('a hard bounce, a complaint and an unsubscription suppress, tell, and never go back by mail', async () => {
  const shop = await w.business()
  const ids: string[] = []
  for (const name of ['soft', 'hard', 'spam', 'left']) ids.push((await add(shop, `${name}@b.example`))._id)
  const [soft, hard, spam, left] = ids as [string, string, string, string]
  await record(
    shop,
    activity(soft, 'bounce', { hard: false }),
    activity(hard, 'bounce', { hard: true, reason: '550 no such user' }),
    activity(spam, 'complaint'),
    activity(left, 'unsubscribe'),
  )
  expect(await look(shop, soft)).toMatchObject({ status: 'subscribed', isSuppressed: false, leadScore: -10 })
  expect(await look(shop, hard)).toMatchObject({
    status: 'bounced',
    suppressionDetail: { type: 'bounced', reason: '550 no such user' },
  })
  expect(await look(shop, spam)).toMatchObject({ status: 'complaint', isSuppressed: true })
  expect(await look(shop, left)).toMatchObject({ status: 'unsubscribed', leadScore: -20 })
  await record(shop, activity(spam, 'unsubscribe'), activity(left, 'bounce', { hard: true }))
  expect((await look(shop, spam)).status).toBe('complaint')
  expect((await look(shop, left)).status).toBe('bounced')
  const events = await w.db<
    { type: string }[]
  >`select type from event where business_id = ${shop.id} and source = 'channel' order by id`
  expect(events.map(event => event.type).sort()).toEqual([
    'subscriber_bounce',
    'subscriber_bounce',
    'subscriber_complaint',
    'subscriber_unsubscribe',
  ])
})

test('engagement ends ninety days after the last human open, to the moment', async () => {
  const shop = await w.business({ testMode: true })
  const at = new Date('2026-01-01T10:00:00.000Z')
  await shop.account.put('/clock', { now: at.toISOString() })
  const { list } = (await shop.email.post('/lists', { name: 'News' })).body.data
  const { _id: id } = (await shop.email.post('/subscribers', { email: 'a@b.example', lists: ['News'] })).body.data
  await record(shop, activity(id, 'open', { at }))
  const engaged = async () => [
    (await shop.email.get('/subscribers/stats')).body.data.engagedSubscribers,
    (await shop.email.get(`/lists/${list.id}`)).body.data.list.counts.engagedCount,
  ]
  expect(await engaged()).toEqual([1, 1])
  await shop.account.put('/clock', { now: '2026-04-01T10:00:00.000Z' })
  expect(await engaged()).toEqual([1, 1])
  await shop.account.put('/clock', { now: '2026-04-01T10:00:00.001Z' })
  expect(await engaged()).toEqual([0, 0])
})

test('parallel writers of all kinds leave no drift', async () => {
  const shop = await w.business()
  const { list } = (await shop.email.post('/lists', { name: 'News' })).body.data
  const ids: string[] = []
  for (let i = 0; i < 10; i++) ids.push((await add(shop, `p${i}@b.example`))._id)
  const one = () => ids[Math.floor(Math.random() * ids.length)]!
  const acts = [
    () => shop.email.put(`/subscribers/${one()}`, { leadScore: Math.floor(Math.random() * 100), tagsToAdd: ['x'] }),
    () => shop.email.put(`/subscribers/${one()}`, { status: 'unsubscribed', tagsToRemove: ['x'] }),
    () => shop.email.put(`/subscribers/${one()}`, { status: 'subscribed' }),
    () => shop.email.post('/lists/add-subscriber', { subscriberId: one(), listIds: [list.id] }),
    () => shop.email.post('/lists/remove-subscriber', { subscriberId: one(), listIds: [list.id] }),
    () => record(shop, ...ids.map(id => activity(id, 'open'))),
    () => foldChanges(w.db, shop.id, new Date()),
    () => foldChanges(w.db, shop.id, new Date()),
  ]
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      for (let i = 0; i < 6; i++) {
        const answer = await acts[Math.floor(Math.random() * acts.length)]!()
        if (typeof answer === 'object' && answer) expect(answer.status).toBe(200)
      }
    }),
  )
  expect(await auditEmail(w.platform, shop.id)).toEqual([])
  await foldAll(w.db, shop.id, new Date())
  expect(await auditEmail(w.platform, shop.id)).toEqual([])
  await w.db`update email_count set total = total + 1 where business_id = ${shop.id} and kind = 'all'`
  expect(await auditEmail(w.platform, shop.id)).toEqual([
    expect.stringContaining('total of all 0 is kept as 11, counted 10'),
  ])
})

test('the demo fills a business with people that have a history', async () => {
  const shop = await w.business()
  const lines = await emailDemo(w.platform, shop)
  expect(lines[0]?.text).toContain('{base}/subscribers')
  expect((await shop.email.get('/subscribers/stats')).body.data).toMatchObject({
    totalSubscribersInBusiness: 20,
    engagedSubscribers: expect.any(Number),
  })
  expect((await shop.email.get('/campaigns')).body.data.pagination.totalCount).toBe(2)
  expect(await auditEmail(w.platform, shop.id)).toEqual([])
})

test('five soft bounces in a row suppress, with no sign of life between them; subscribed again, the count begins anew', async () => {
  const shop = await w.business()
  const { _id: id } = await add(shop, 'full@b.example')
  let minute = 0
  const happens = (kind: Activity['kind'], more: Partial<Activity> = {}) =>
    record(
      shop,
      activity(id, kind, { at: new Date(Date.now() + ++minute * 60_000), reason: '452 4.2.2 full', ...more }),
    )
  for (const sign of ['delivered', 'open', 'click'] as const) {
    for (let i = 0; i < 4; i++) await happens('bounce')
    await happens(sign)
  }
  for (let i = 0; i < 4; i++) await happens('bounce')
  await happens('open', { isMachine: true })
  expect(await look(shop, id)).toMatchObject({ status: 'subscribed', isSuppressed: false })
  await happens('bounce')
  const suppressed = { status: 'bounced', isSuppressed: true, suppressionDetail: { type: 'bounced' } }
  expect(await look(shop, id)).toMatchObject(suppressed)
  await shop.email.put(`/subscribers/${id}`, { status: 'subscribed' })
  for (let i = 0; i < 4; i++) await happens('bounce')
  expect(await look(shop, id)).toMatchObject({ status: 'subscribed', isSuppressed: false })
  await happens('bounce')
  expect(await look(shop, id)).toMatchObject(suppressed)
  expect(await auditEmail(w.platform, shop.id)).toEqual([])
})
