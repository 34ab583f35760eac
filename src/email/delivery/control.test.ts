import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sink, startSink } from '../../../test/smtp-sink.ts'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { createEngine } from './engine.ts'

let house: World
let sink: Sink
let refuse: ((to: string) => string | undefined) | undefined
beforeAll(async () => {
  house = await world()
  sink = await startSink({
    at: (stage, { to }) => {
      const reply = stage === 'rcpt' ? refuse?.(to) : undefined
      return reply ? { reply } : undefined
    },
  })
})
afterAll(async () => {
  await sink.close()
  await house.close()
})

async function launch(people: number) {
  const shop = await house.business()
  await shop.email.post('/lists', { name: 'News' })
  for (let i = 0; i < people; i++)
    await shop.email.post('/subscribers', { email: `p${i}@example.com`, lists: ['News'] })
  const server = {
    name: 'sink',
    host: '127.0.0.1',
    port: sink.port,
    security: 'none',
    senderEmail: 'news@shop.example',
  }
  expect((await shop.email.post('/delivery-servers', server)).status).toBe(201)
  const made = await shop.email.post('/campaigns', {
    campaignDetails: { campaignName: 'Spring', subject: 'Hi' },
    content: '<p>x</p>',
  })
  const campaignId = made.body.data._id
  expect((await shop.email.post('/campaigns/send-to-list', { campaignId, includedList: ['News'] })).status).toBe(200)
  return { shop, campaignId }
}
const drain = (shop: TestBusiness) => createEngine(house.platform).drain(shop.id)

test('paused: nobody is mailed; resumed: everyone; and it can’t be paused when it is over', async () => {
  refuse = undefined
  const { shop, campaignId } = await launch(3)
  expect((await shop.email.post(`/campaigns/${campaignId}/pause`)).body.data).toEqual({ campaignId, sends: 1 })
  await drain(shop)
  const queued = await shop.email.get(`/deliveries?campaignId=${campaignId}&status=queued`)
  expect(queued.body.data.deliveries).toHaveLength(3)
  expect((await shop.email.post(`/campaigns/${campaignId}/resume`)).status).toBe(200)
  await drain(shop)
  const report = (await shop.email.get(`/campaigns/${campaignId}/report`)).body.data
  expect(report.totals).toMatchObject({ total: 3, queued: 3, sent: 3, delivered: 3, failed: 0 })
  expect(report.sends[0]).toMatchObject({ state: 'complete', completedAt: expect.any(String) })
  const late = await shop.email.post(`/campaigns/${campaignId}/pause`)
  expect(late).toMatchObject({ status: 422, body: { code: 'campaign_pause_impossible' } })
  const stranger = await house.business()
  expect((await stranger.email.get(`/campaigns/${campaignId}/report`)).status).toBe(404)
  expect((await stranger.email.get(`/deliveries?campaignId=${campaignId}`)).body.data.deliveries).toEqual([])
})

test('cancelled: who was not mailed gets that as a result', async () => {
  refuse = undefined
  const { shop, campaignId } = await launch(3)
  await shop.email.post(`/campaigns/${campaignId}/cancel`)
  await drain(shop)
  const report = (await shop.email.get(`/campaigns/${campaignId}/report`)).body.data
  expect(report.totals).toMatchObject({ sent: 0, cancelled: 3 })
  expect(report.sends[0].state).toBe('cancelled')
})

test('sent again only to whom it did not reach', async () => {
  refuse = to =>
    to.startsWith('p1@') ? '550 5.7.1 refused by policy' : to.startsWith('p2@') ? '550 5.1.1 user unknown' : undefined
  const { shop, campaignId } = await launch(4)
  await drain(shop)
  const failed = await shop.email.get(`/deliveries?campaignId=${campaignId}&status=failed`)
  expect(failed.body.data.deliveries).toMatchObject([{ email: 'p1@example.com', class: 'policy', code: 550 }])
  const one = await shop.email.get(`/deliveries/${failed.body.data.deliveries[0]._id}`)
  expect(one.body.data).toMatchObject({ email: 'p1@example.com', attempts: [], events: [] })
  refuse = undefined
  const before = sink.count
  const again = await shop.email.post(`/campaigns/${campaignId}/resend`, {})
  expect(again.body.data).toMatchObject({ totalEmails: 1, queued: 1 })
  await drain(shop)
  expect(sink.count).toBe(before + 1)
  expect((await shop.email.post(`/campaigns/${campaignId}/resend`, {})).body.data.queued).toBe(0)
})

test('a campaign whose addresses do not exist pauses by itself, and a person may go on', async () => {
  refuse = to => (Number(to.slice(1, to.indexOf('@'))) % 10 === 0 ? '550 5.1.1 user unknown' : undefined)
  const { shop, campaignId } = await launch(110)
  // Blocks of one hundred, so that the rate is seen before the end.
  await house.db`with b as (select * from email_block where business_id = ${shop.id}), cut as (
    update email_block set emails = emails[1:105], subscriber_ids = subscriber_ids[1:105] where business_id = ${shop.id})
    insert into email_block (business_id, send_id, first, lane, subscriber_ids, emails)
    select business_id, send_id, 106, lane, subscriber_ids[106:], emails[106:] from b`
  await house.db`update email_block set claimed_until = now() + interval '1 hour' where business_id = ${shop.id} and first = 106`
  await drain(shop)
  const [send] = (await shop.email.get(`/campaigns/${campaignId}/report`)).body.data.sends
  expect(send).toMatchObject({ state: 'paused', pauseReason: expect.stringContaining('do not exist') })
  await house.db`update email_block set claimed_until = null where business_id = ${shop.id}`
  await drain(shop)
  await shop.email.post(`/campaigns/${campaignId}/resume`)
  await drain(shop)
  expect((await shop.email.get(`/campaigns/${campaignId}/report`)).body.data.sends[0]).toMatchObject({
    state: 'complete',
  })
})
