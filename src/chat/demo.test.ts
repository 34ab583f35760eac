import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import { compileValidator } from '../platform/validation.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
const chat = () => w.services.find(service => service.name === 'chat')!

describe('the demo', () => {
  test('holds contacts, approved templates and conversations, and its totals are right', async () => {
    const shop = await w.business()
    const lines = await chat().demo(w.platform, shop)
    expect(lines[0]!.text).toContain('{base}/messages')
    expect((await shop.chat.get('/contacts')).body.data.total).toBe(6)
    const { templates } = (await shop.chat.get('/templates')).body.data
    expect(templates.map((template: { status: string }) => template.status)).toEqual([
      'APPROVED',
      'APPROVED',
      'APPROVED',
    ])
    expect((await shop.chat.get('/conversations')).body.data.total).toBe(4)
    expect(await chat().audit(w.platform, shop.id)).toEqual([])
  })
})

describe('events', () => {
  test('every example and every event of the demo fits the shape the catalogue shows', async () => {
    const shop = await w.business()
    await chat().demo(w.platform, shop)
    const stored = await w.db<
      { type: string; data: object }[]
    >`select type, data from event where business_id = ${shop.id}`
    expect(stored.length).toBeGreaterThan(10)
    const examples = chat().eventTypes.map(({ type, example }) => ({ type, data: example }))
    for (const { type, data } of [...examples, ...stored]) {
      const known = chat().eventTypes.find(one => one.type === type)
      expect(known, type).toBeDefined()
      const { error } = compileValidator(known!.data, 'body')(structuredClone(data)) as { error?: Error }
      expect(error?.message, type).toBeUndefined()
    }
  })
})

describe('the nightly purge', () => {
  test('drops raw news of last season and keeps what is younger or still waits', async () => {
    const shop = await w.business()
    await chat().demo(w.platform, shop)
    const ids = await w.db<{ id: string }[]>`select id from chat_webhook where business_id = ${shop.id} order by id`
    await w.db`update chat_webhook set received_at = now() - interval '91 days' where id = any(${[ids[0]!.id, ids[1]!.id]})`
    await w.db`update chat_webhook set processed_at = null where id = ${ids[1]!.id}`
    const purge = w.work.find(work => work.queue.name === 'chat_purge_news')!
    await purge.run({}, { id: '', signal: new AbortController().signal, log: w.platform.log })
    const left = await w.db<{ id: string }[]>`select id from chat_webhook where business_id = ${shop.id} order by id`
    expect(left.map(row => row.id)).toEqual(ids.slice(1).map(row => row.id))
  })
})

describe('playing a person in the sandbox', () => {
  test('makes the conversation, and STOP counts', async () => {
    const shop = await w.business()
    await shop.chat.post('/sandbox/messages', { from: 14155550100, name: 'Ann', text: 'Hi' })
    const [conversation] = (await shop.chat.get('/conversations')).body.data.conversations
    expect(conversation).toMatchObject({ contact: { name: 'Ann' }, unreadCount: 1 })
    await shop.chat.post('/sandbox/messages', { from: 14155550100, text: 'STOP' })
    expect((await shop.chat.get(`/contacts/${conversation.chatId}`)).body.data.optin).toBe(false)
    const picture = { type: 'image', image: { id: '1' } }
    expect((await shop.chat.post('/sandbox/messages', { from: 14155550100, message: picture })).status).toBe(200)
    expect((await shop.chat.post('/sandbox/messages', { from: 'x', text: 'Hi' })).status).toBe(400)
    expect((await shop.chat.post('/sandbox/messages', { from: 14155550100 })).status).toBe(400)
  })
})
