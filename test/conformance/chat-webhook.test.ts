import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stepBroadcasts } from '../../src/chat/broadcasts/loops.ts'
import { processAllNews } from '../../src/chat/channel/loops.ts'
import { sweepMessages } from '../../src/chat/messages/sweep.ts'
import { changeChannel } from '../../src/chat/settings/settings.ts'
import { incomingChange, randomFrom, shuffleInPlace, signature, webhookBody } from '../fake-platform.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import { approvedTemplate, settle } from './chat-shop.ts'

let w: World
let shop: TestBusiness
let path: string
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
  const { data } = (await shop.chat.put('/settings/channel', { appSecret: 'app-secret', verifyToken: 'my-token' })).body
  path = new URL(data.webhookUrl).pathname
})

const post = (body: string, headers: Record<string, string> = signature(body, 'app-secret')) =>
  w.app.inject({
    method: 'POST',
    url: path,
    payload: body,
    headers: { 'content-type': 'application/json', ...headers },
  })

/** Delivers changes and works through them. */
async function tell(...changes: object[]) {
  expect((await post(webhookBody(changes))).statusCode).toBe(200)
  await processAllNews(w.platform)
}

const seconds = () => String(Math.floor(Date.now() / 1000))
let count = 0
const message = (more: object = {}) => ({
  from: '919876543210',
  id: `wamid.in${++count}`,
  timestamp: seconds(),
  type: 'text',
  text: { body: 'Hello' },
  ...more,
})
const status = (id: string, name: string, more: object = {}) => ({
  field: 'messages',
  value: {
    messaging_product: 'whatsapp',
    metadata: {},
    statuses: [{ id, status: name, timestamp: seconds(), ...more }],
  },
})
const conversations = async () => (await shop.chat.get('/conversations')).body.data.conversations
const messagesOf = async (chatId: string) =>
  (await shop.chat.get(`/conversations/${chatId}/messages`)).body.data.messages
const problems = async () =>
  (
    await w.db<{ problems: object[] | null }[]>`select problems from chat_webhook where business_id = ${shop.id}`
  ).flatMap(row => row.problems ?? [])

describe('handshake', () => {
  const ask = (query: string) => w.app.inject({ url: `${path}?${query}` })
  test('our token is answered with the challenge as it came, anything else with 403', async () => {
    const good = await ask('hub.mode=subscribe&hub.challenge=abc%20123&hub.verify_token=my-token')
    expect([good.statusCode, good.payload, good.headers['content-type']]).toEqual([
      200,
      'abc 123',
      'text/plain; charset=utf-8',
    ])
    expect((await ask('hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong')).statusCode).toBe(403)
    expect((await ask('hub.mode=other&hub.challenge=1&hub.verify_token=my-token')).statusCode).toBe(403)
    expect((await ask('')).statusCode).toBe(403)
    expect(
      (await w.app.inject({ url: '/chat/api/v1/webhook/aaaaaaaaaaaaaaaaaaaaaaaa?hub.mode=subscribe' })).statusCode,
    ).toBe(404)
  })

  test('a new token holds at once, also where another process changed it', async () => {
    const asked = async (token: string) =>
      (await ask(`hub.mode=subscribe&hub.challenge=1&hub.verify_token=${token}`)).statusCode
    expect(await asked('my-token')).toBe(200)
    await shop.chat.put('/settings/channel', { verifyToken: 'second' })
    expect([await asked('second'), await asked('my-token')]).toEqual([200, 403])
    await changeChannel({ ...w.platform }, w.db, shop.id, { verifyToken: 'third' })
    await expect.poll(() => asked('third'), { interval: 20, timeout: 500 }).toBe(200)
  })

  test('without a token set nothing passes', async () => {
    const other = await w.business()
    const { data } = (await other.chat.get('/settings/channel')).body
    const answer = await w.app.inject({
      url: `${new URL(data.webhookUrl).pathname}?hub.mode=subscribe&hub.verify_token=`,
    })
    expect(answer.statusCode).toBe(403)
  })
})

describe('signature', () => {
  test('over the raw bytes: a body with escapes passes, a changed one or a wrong secret does not', async () => {
    const body = webhookBody([incomingChange(message({ text: { body: 'Grüße 😀' } }))])
    expect(body).toContain('\\u')
    expect((await post(body)).statusCode).toBe(200)
    expect((await post(body, {})).statusCode).toBe(401)
    expect((await post(body, signature(body, 'other'))).statusCode).toBe(401)
    expect((await post(`${body} `, signature(body, 'app-secret'))).statusCode).toBe(401)
    expect((await post(body, { 'x-hub-signature-256': 'sha256=zz' })).statusCode).toBe(401)
    await processAllNews(w.platform)
    const [conversation] = await conversations()
    expect(conversation.lastMessage.content.text.body).toBe('Grüße 😀')
  })

  test('while the secret changes, the old one still counts; an unset one never does', async () => {
    const body = webhookBody([])
    const signedWith = async (secret: string) => (await post(body, signature(body, secret))).statusCode
    expect(await signedWith('app-secret')).toBe(200)
    await shop.chat.put('/settings/channel', { appSecret: 'new-secret' })
    expect(await signedWith('new-secret')).toBe(200)
    expect(await signedWith('app-secret')).toBe(200)
    await shop.chat.put('/settings/channel', { appSecret: 'third-secret' })
    expect(await signedWith('app-secret')).toBe(401)
    expect(await signedWith('third-secret')).toBe(200)
    await shop.chat.put('/settings/channel', { appSecret: 'third-secret', messagesPerSecond: 70 })
    expect(await signedWith('new-secret')).toBe(200)
    const other = await w.business()
    const url = new URL((await other.chat.get('/settings/channel')).body.data.webhookUrl).pathname
    const answer = await w.app.inject({
      method: 'POST',
      url,
      payload: body,
      headers: { 'content-type': 'application/json', ...signature(body, '') },
    })
    expect(answer.statusCode).toBe(401)
  })

  test('3 MB are taken, more are not', async () => {
    const big = (size: number) => `{"object":"x","entry":[],"pad":"${'x'.repeat(size)}"}`
    expect((await post(big(3 * 1024 * 1024 - 100))).statusCode).toBe(200)
    expect((await post(big(3 * 1024 * 1024))).statusCode).toBe(413)
  })

  test('what is signed but no JSON is kept, not retried for days', async () => {
    expect((await post('{not json')).statusCode).toBe(200)
    await processAllNews(w.platform)
    expect(await problems()).toHaveLength(1)
  })
})

describe('incoming messages', () => {
  test('make the contact and the conversation, and count as active', async () => {
    await tell(incomingChange(message(), [{ wa_id: '919876543210', profile: { name: 'Asha' } }]))
    const [conversation] = await conversations()
    expect(conversation).toMatchObject({ contact: { name: 'Asha', mobile: '919876543210' }, unreadCount: 1 })
    expect(conversation.windowExpiresAt).not.toBeNull()
    const contact = (await shop.chat.get(`/contacts/${conversation.chatId}`)).body.data
    expect(contact).toMatchObject({ source: 'wa', countryCode: '91' })
    expect(Date.parse(contact.lastActive)).toBeGreaterThan(Date.now() - 60_000)
    const [received] = await messagesOf(conversation.chatId)
    expect(received).toMatchObject({
      direction: 'in',
      kind: 'text',
      status: 'received',
      content: { type: 'text', text: { body: 'Hello' } },
    })
    const events = await w.db`select type from event where business_id = ${shop.id} order by id`
    expect(events.map(event => event.type)).toEqual(['contact_create', 'message_received'])
  })

  test.each([
    ['image', { image: { id: '1', mime_type: 'image/jpeg', sha256: 'x', caption: 'c' } }],
    ['video', { video: { id: '1', mime_type: 'video/mp4', sha256: 'x' } }],
    ['document', { document: { id: '1', filename: 'a.pdf' } }],
    ['audio', { audio: { id: '1', voice: true } }],
    ['sticker', { sticker: { id: '1', animated: false } }],
    ['location', { location: { latitude: 1.5, longitude: 2.5 } }],
    ['contacts', { contacts: [{ name: { formatted_name: 'x' } }] }],
    ['reaction', { reaction: { message_id: 'wamid.1', emoji: '👍' } }],
    ['interactive', { interactive: { type: 'button_reply', button_reply: { id: 'y', title: 'Yes' } } }],
    ['button', { button: { payload: 'p', text: 'More' } }],
    ['order', { order: { catalog_id: '1', product_items: [] } }],
    ['unsupported', { errors: [{ code: 131051 }] }],
    ['telepathy', { telepathy: { thought: 1 } }],
  ])('%s is kept as it came', async (type, node) => {
    await tell(incomingChange(message({ type, ...node, text: undefined })))
    const [conversation] = await conversations()
    const [received] = await messagesOf(conversation.chatId)
    expect(received.kind).toBe(type === 'telepathy' ? 'unsupported' : type)
    const [row] = await w.db<{ payload: object }[]>`select payload from chat_message where business_id = ${shop.id}`
    expect(row!.payload).toMatchObject({ type, ...node })
    expect(await problems()).toEqual([])
  })

  test('in the second of our own last message they come after it', async () => {
    const first = await shop.chat.post('/messages', { to: 919876543210, type: 'text', text: 'ours' })
    const { chatId } = first.body.data
    const [ours] = await messagesOf(chatId)
    const timestamp = String(Math.floor(Date.parse(ours.createdAt) / 1000))
    await tell(incomingChange(message({ timestamp, text: { body: 'one' } })))
    await tell(incomingChange(message({ timestamp, text: { body: 'two' } })))
    const shown = (await messagesOf(chatId)).map(
      (one: { content: { text: { body: string } } }) => one.content.text.body,
    )
    expect(shown).toEqual(['two', 'one', 'ours'])
    expect((await conversations())[0].lastMessage.content.text.body).toBe('two')
    const late = String(Number(timestamp) - 5)
    await tell(incomingChange(message({ timestamp: late, text: { body: 'late' } })))
    expect((await messagesOf(chatId)).at(-1)).toMatchObject({
      content: { text: { body: 'late' } },
      createdAt: new Date(Number(late) * 1000).toISOString(),
    })
  })

  test('the same message three times is one message', async () => {
    const one = message()
    await tell(incomingChange(one), incomingChange(one))
    await tell(incomingChange(one))
    const [conversation] = await conversations()
    expect(conversation.unreadCount).toBe(1)
    expect(await messagesOf(conversation.chatId)).toHaveLength(1)
  })

  test('one poisoned element does not hurt its neighbours', async () => {
    await tell(
      incomingChange(message({ from: '14155550101' })),
      incomingChange({ nonsense: true }),
      incomingChange(message({ from: '14155550102', text: { body: 'nul \u0000 and half \ud800' } })),
      { field: 'messages', value: null },
      { field: 'messages', value: { messages: 'text', statuses: [null, 5, { id: 'wamid.q', status: 'sent' }] } },
      incomingChange(message({ from: '14155550103', timestamp: 'never' })),
      incomingChange(message({ from: '14155550104', id: 'x'.repeat(600) })),
      { field: 'message_template_status_update', value: {} },
      status('wamid.unknown', 'sent'),
      incomingChange(message({ from: '14155550105' })),
    )
    const found = (await conversations()).map((one: { contact: { mobile: string } }) => one.contact.mobile).sort()
    expect(found).toEqual(['14155550101', '14155550102', '14155550105'])
    expect((await problems()).length).toBe(7)
  })

  test('a message without a number is kept under the user id', async () => {
    const hidden = message({ from: undefined, from_user_id: 'IN.1349' })
    await tell(incomingChange(hidden, [{ user_id: 'IN.1349', profile: { name: 'Ravi', username: 'ravi' } }]))
    const [conversation] = await conversations()
    expect(conversation.contact).toMatchObject({ name: 'Ravi', mobile: '' })
    const sent = await shop.chat.post(`/conversations/${conversation.chatId}/messages`, { type: 'text', text: 'Hi' })
    expect(sent.status, sent.text).toBe(200)
    expect(sent.body.data).toMatchObject({
      to: 'IN.1349',
      platformResponse: { contacts: [{ input: 'IN.1349', channel_id: 'IN.1349' }] },
    })
    const [row] = await w.db<{ payload: object }[]>`
      select payload from chat_message where business_id = ${shop.id} and direction = 'out'`
    expect(row!.payload).toMatchObject({ recipient: 'IN.1349' })
    expect(row!.payload).not.toHaveProperty('to')
  })

  test('a blocked contact: recorded as blocked, no event, nothing unread', async () => {
    await shop.chat.post('/contacts', { mobile: '919876543210', incomingBlocked: true })
    await tell(incomingChange(message()))
    const [conversation] = await conversations()
    expect(conversation.unreadCount).toBe(0)
    expect((await messagesOf(conversation.chatId))[0]).toMatchObject({ blocked: true })
    const events = await w.db`select 1 from event where business_id = ${shop.id} and type = 'message_received'`
    expect(events).toHaveLength(0)
  })

  test('mark read, and reply', async () => {
    await tell(incomingChange(message()), incomingChange(message()))
    const [{ chatId }] = await conversations()
    expect((await shop.chat.get('/conversations?unread=true')).body.data.total).toBe(1)
    expect((await shop.chat.post(`/conversations/${chatId}/read`)).body.data).toEqual({ chatId, read: 2 })
    expect((await shop.chat.post(`/conversations/${chatId}/read`)).body.data.read).toBe(0)
    expect((await shop.chat.get('/conversations?unread=true')).body.data.total).toBe(0)
    const answer = await shop.chat.post(`/conversations/${chatId}/messages`, { type: 'text', text: 'Hi' })
    expect(answer.body.data).toMatchObject({ to: '919876543210', chatId })
    const other = await w.business()
    expect((await other.chat.post(`/conversations/${chatId}/messages`, { type: 'text', text: 'Hi' })).status).toBe(404)
    expect((await other.chat.post(`/conversations/${chatId}/read`)).status).toBe(404)
  })

  test('an incoming message opens the window for a day', async () => {
    await shop.chat.put('/settings/channel', { enforceWindow: true })
    const text = { to: 919876543210, type: 'text', text: 'x' }
    expect((await shop.chat.post('/messages', text)).body.code).toBe('window_closed')
    await tell(incomingChange(message({ timestamp: String(Math.floor(Date.now() / 1000) - 25 * 3600) })))
    expect((await shop.chat.post('/messages', text)).body.code).toBe('window_closed')
    await tell(incomingChange(message({ timestamp: String(Math.floor(Date.now() / 1000) - 23 * 3600) })))
    expect((await shop.chat.post('/messages', text)).status).toBe(200)
  })

  test('a notice of the platform is no message of the person: the window stays closed', async () => {
    await shop.chat.put('/settings/channel', { enforceWindow: true })
    const before = String(Math.floor(Date.now() / 1000) - 25 * 3600)
    await tell(incomingChange(message({ timestamp: before })))
    await tell(
      incomingChange(message({ type: 'system', text: undefined, system: { type: 'customer_identity_changed' } })),
    )
    const [conversation] = await conversations()
    expect(conversation).toMatchObject({ unreadCount: 1, lastMessage: { kind: 'system' } })
    expect(conversation.lastActive).toBe(new Date(Number(before) * 1000).toISOString())
    const answer = await shop.chat.post('/messages', { to: 919876543210, type: 'text', text: 'x' })
    expect(answer.body.code).toBe('window_closed')
  })
})

describe('consent', () => {
  const ad = () => shop.chat.post('/messages', { to: 919876543210, type: 'template', templateName: 'ad' })
  beforeEach(() =>
    approvedTemplate(w, shop, { name: 'ad', category: 'MARKETING', components: [{ type: 'BODY', text: 'Buy' }] }),
  )

  test.each(['STOP', ' stop. ', 'Unsubscribe', 'parar', 'arrêt', 'СТОП', '停止'])(
    '"%s" stops marketing, START resumes it',
    async word => {
      expect((await ad()).status).toBe(200)
      await tell(incomingChange(message({ text: { body: word } })))
      expect((await ad()).body.code).toBe('contact_opted_out')
      const [{ _id }] = (await shop.chat.get('/contacts')).body.data.contacts
      await shop.chat.put(`/contacts/${_id}`, { optin: true })
      expect((await ad()).body.code).toBe('contact_opted_out')
      await tell(incomingChange(message({ text: { body: 'start' } })))
      expect((await ad()).status).toBe(200)
      const log =
        await w.db`select decision, source, evidence from chat_consent where business_id = ${shop.id} order by id`
      expect(log).toMatchObject([{ decision: 'stop', source: 'keyword', evidence: word }, { decision: 'resume' }])
    },
  )

  test('their latest word counts, in whatever order it arrives', async () => {
    const said = (body: string, ago: number) =>
      incomingChange(message({ text: { body }, timestamp: String(Math.floor(Date.now() / 1000) - ago) }))
    await tell(said('START', 10), said('STOP', 60))
    expect((await ad()).status).toBe(200)
    await tell(said('STOP', 5), said('START', 8))
    expect((await ad()).body.code).toBe('contact_opted_out')
    expect(await w.db`select 1 from chat_consent where business_id = ${shop.id}`).toHaveLength(4)
  })

  test.each([
    { type: 'button', button: { payload: 'p1', text: 'Stop promotions' } },
    { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: 'b1', title: 'STOP' } } },
    { type: 'interactive', interactive: { type: 'list_reply', list_reply: { id: 'l1', title: 'Unsubscribe' } } },
    { type: 'text', text: { body: '“ＳＴＯＰ”' } },
    { type: 'text', text: { body: 'Opt-out' } },
  ])('a tapped button says its words, %j', async said => {
    expect((await ad()).status).toBe(200)
    await tell(incomingChange(message({ text: undefined, ...said })))
    expect((await ad()).body.code).toBe('contact_opted_out')
  })

  test('words inside a sentence stop nothing', async () => {
    await tell(incomingChange(message({ text: { body: "please don't stop" } })))
    expect((await ad()).status).toBe(200)
  })

  test('preferences in the app and error 131050 stop it too', async () => {
    const preference = (value: string) => ({
      field: 'user_preferences',
      value: {
        user_preferences: [{ wa_id: '919876543210', category: 'marketing_messages', value, timestamp: `${++count}` }],
      },
    })
    await tell(preference('stop'))
    expect((await ad()).body.code).toBe('contact_opted_out')
    await tell(preference('resume'))
    const sent = await ad()
    expect(sent.status).toBe(200)
    const { id } = sent.body.data.platformResponse.messages[0]
    await tell(status(id, 'failed', { errors: [{ code: 131050, title: 'stopped' }] }))
    expect((await ad()).body.code).toBe('contact_opted_out')
  })
})

describe('statuses', () => {
  const sendText = async () => {
    const answer = await shop.chat.post('/messages', { to: 14155550100, type: 'text', text: 'x' })
    await w.db`delete from chat_webhook where business_id = ${shop.id}`
    return { id: answer.body.data.platformResponse.messages[0].id, chatId: answer.body.data.chatId }
  }

  test('only move forward, and read without delivered is fine', async () => {
    const { id, chatId } = await sendText()
    const state = async () => (await messagesOf(chatId))[0].status
    await tell(status(id, 'read'))
    expect(await state()).toBe('read')
    await tell(status(id, 'sent'), status(id, 'delivered'), status(id, 'failed', { errors: [{ code: 131000 }] }))
    expect(await state()).toBe('read')
  })

  test('one that comes before the answer of its send is matched by our own id', async () => {
    const { id, chatId } = await sendText()
    const [row] = await w.db<{ id: string; attempt: number }[]>`
      update chat_message set status = 'sending', platform_id = null, lease_until = now() + interval '1 minute'
      where business_id = ${shop.id} returning id, attempt`
    await tell(status(id, 'delivered', { biz_opaque_callback_data: `${row!.id}.${row!.attempt}` }))
    expect((await messagesOf(chatId))[0]).toMatchObject({ status: 'delivered', platformId: id })
  })

  test('one of an earlier attempt is not taken for this one', async () => {
    const { chatId } = await sendText()
    const [row] = await w.db<{ id: string }[]>`
      update chat_message set status = 'unknown', platform_id = null, attempt = 2 where business_id = ${shop.id} returning id`
    await tell(status('wamid.old', 'delivered', { biz_opaque_callback_data: `${row!.id}.1` }))
    expect((await messagesOf(chatId))[0]).toMatchObject({ status: 'unknown', platformId: null })
  })

  test('one nobody knows yet is parked and applied when its message is known', async () => {
    const { chatId } = await sendText()
    await tell(status('wamid.later', 'delivered'))
    await w.db`update chat_message set platform_id = 'wamid.later' where business_id = ${shop.id}`
    await sweepMessages(w.platform)
    expect((await messagesOf(chatId))[0].status).toBe('delivered')
  })

  test('a call whose process died counts as unknown', async () => {
    const { chatId } = await sendText()
    await w.db`update chat_message set status = 'sending', platform_id = null, lease_until = now() - interval '1 second'
      where business_id = ${shop.id}`
    await sweepMessages(w.platform)
    expect((await messagesOf(chatId))[0].status).toBe('unknown')
  })

  describe('failures that are told later', () => {
    const failed = (id: string, code: number, more: object = {}) =>
      status(id, 'failed', { errors: [{ code, title: 'T' }], ...more })
    const halted = async () => (await shop.chat.get('/settings/channel')).body.data.halted
    const sendOne = async () =>
      (await shop.chat.post('/messages', { to: 919876543210, type: 'text', text: 'x' })).body.data.platformResponse
        .messages[0].id as string

    test.each([
      [131042, 'number'],
      [131031, 'account'],
      [131048, 'marketing'],
      [131064, 'templates'],
      [130497, 'country:91'],
    ])('%i stops the %s, once, until the settings are saved', async (code, scope) => {
      const ids = [await sendOne(), await sendOne(), await sendOne()]
      await tell(failed(ids[0]!, code), failed(ids[1]!, code))
      expect(await halted()).toMatchObject({ [scope]: { code, title: 'T' } })
      const told = await w.db`select 1 from event where business_id = ${shop.id} and type = 'channel_halted'`
      expect(told).toHaveLength(1)
      await shop.chat.put('/settings/channel', {})
      await tell(failed(ids[2]!, code, { timestamp: String(Math.floor(Date.now() / 1000) - 60) }))
      expect(await halted()).toEqual({})
    })

    test('one without a code stops nothing but its message', async () => {
      await tell(status(await sendOne(), 'failed'))
      expect(await halted()).toEqual({})
    })

    test('132015 pauses its broadcast', async () => {
      await approvedTemplate(w, shop, { name: 'news', components: [{ type: 'BODY', text: 'News' }] })
      await shop.chat.post('/contacts', [
        { mobile: 14155550101, list: ['All'] },
        { mobile: 14155550102, list: ['All'] },
      ])
      const { _id } = (await shop.chat.post('/broadcasts', { name: 'B', templateName: 'news', lists: ['All'] })).body
        .data
      while ((await stepBroadcasts(w.platform)) > 0);
      const [out] = await w.db<{ id: string }[]>`
        select platform_id as id from chat_message where business_id = ${shop.id} and broadcast_id = ${_id}`
      // As if the rest of a long one still waited.
      await w.db`update chat_broadcast set status = 'sending' where business_id = ${shop.id}`
      await tell(failed(out!.id, 132015))
      expect((await shop.chat.get(`/broadcasts/${_id}`)).body.data).toMatchObject({
        status: 'paused',
        pauseReason: '(132015) T',
        report: { failed: 1 },
      })
    })
  })

  test('a thousand in one delivery, shuffled and tripled, end like the oracle', async () => {
    const random = randomFrom(7)
    const sent = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const answer = await shop.chat.post('/messages', { to: 14155551000 + i, type: 'text', text: 'x' })
        return { id: answer.body.data.platformResponse.messages[0].id as string, to: String(14155551000 + i) }
      }),
    )
    await w.db`delete from chat_webhook where business_id = ${shop.id}`
    const oracle = new Map<string, string>()
    const updates = sent.flatMap(({ id }, i) => {
      const names = [['sent'], ['sent', 'delivered'], ['sent', 'delivered', 'read'], ['sent', 'failed'], ['read']][
        i % 5
      ]!
      oracle.set(id, names.at(-1)!)
      return names.flatMap(name => [1, 2, 3].map(() => status(id, name)))
    })
    const all = [...updates, ...updates].slice(0, 1000)
    shuffleInPlace(all, random)
    expect((await post(webhookBody(all))).statusCode).toBe(200)
    await processAllNews(w.platform)
    const rows = await w.db<{ id: string; status: string }[]>`
      select platform_id as id, status from chat_message where business_id = ${shop.id} and direction = 'out'`
    expect(new Map(rows.map(row => [row.id, row.status]))).toEqual(oracle)
  })
})

describe('identity: one person, one contact', () => {
  const both = { wa_id: '919876543210', user_id: 'IN.1', profile: { name: 'Asha' } }
  const withBoth = () => incomingChange(message({ from_user_id: 'IN.1' }), [both])
  const byUser = () =>
    incomingChange(message({ from: undefined, from_user_id: 'IN.1' }), [{ user_id: 'IN.1', profile: {} }])
  const byPhone = () => incomingChange(message(), [{ wa_id: '919876543210', profile: {} }])

  test.each<[string, () => object[], string]>([
    ['1 phone and user id, new', () => [withBoth()], '919876543210'],
    ['2 user id only, new', () => [byUser()], ''],
    ['3 both, known by both', () => [withBoth(), withBoth()], '919876543210'],
    ['4 both, known by user id', () => [byUser(), withBoth()], '919876543210'],
    ['5 both, known by phone', () => [byPhone(), withBoth()], '919876543210'],
    ['6 user id only, known by both', () => [withBoth(), byUser()], '919876543210'],
    ['7 user id only, known by it', () => [byUser(), byUser()], ''],
    [
      '8 a new phone of a known user id',
      () => [incomingChange(message({ from: '919000000000', from_user_id: 'IN.1' })), withBoth()],
      '919000000000',
    ],
    ['9 two contacts turn out to be one', () => [byPhone(), byUser(), withBoth()], '919876543210'],
  ])('%s', async (_, changes, mobile) => {
    const list = changes()
    for (const change of list) await tell(change)
    const { contacts, total } = (await shop.chat.get('/contacts')).body.data
    expect(total).toBe(1)
    expect(contacts[0].mobile).toBe(mobile)
    const found = await conversations()
    expect(found).toHaveLength(1)
    expect(await messagesOf(found[0].chatId)).toHaveLength(list.length)
    const chat = w.services.find(service => service.name === 'chat')!
    expect(await chat.audit(w.platform, shop.id)).toEqual([])
  })

  test('after a change of number both numbers are the contact', async () => {
    await tell(withBoth())
    await tell(
      incomingChange({
        from: '919876543210',
        id: `wamid.sys${++count}`,
        timestamp: seconds(),
        type: 'system',
        system: { type: 'user_changed_number', wa_id: '919111111111', body: 'changed' },
      }),
    )
    const [conversation] = await conversations()
    for (const to of [919111111111, 919876543210]) {
      const sent = await shop.chat.post('/messages', { to, type: 'text', text: 'x' })
      expect(sent.body.data.chatId).toBe(conversation.chatId)
    }
    expect((await shop.chat.get('/contacts')).body.data.total).toBe(1)
  })

  test('after a change of number what we send goes to the new one, unless it is known as somebody else', async () => {
    const moved = (from: string, to: string) =>
      incomingChange(message({ from, type: 'system', system: { type: 'user_changed_number', wa_id: to, body: 'x' } }))
    await tell(withBoth(), moved('919876543210', '447911123456'))
    const [conversation] = await conversations()
    expect(conversation.contact.mobile).toBe('447911123456')
    expect((await shop.chat.get(`/contacts/${conversation.chatId}`)).body.data).toMatchObject({
      mobile: '447911123456',
      countryCode: '44',
    })
    const reply = await shop.chat.post(`/conversations/${conversation.chatId}/messages`, { type: 'text', text: 'x' })
    expect(reply.body.data.to).toBe('447911123456')
    await tell(moved('447911123456', '919876543210'))
    expect((await conversations())[0].contact.mobile).toBe('919876543210')
    await shop.chat.post('/contacts', { mobile: '4915112345678' })
    await tell(moved('919876543210', '4915112345678'))
    expect((await conversations())[0].contact.mobile).toBe('919876543210')
    const chat = w.services.find(service => service.name === 'chat')!
    expect(await chat.audit(w.platform, shop.id)).toEqual([])
  })

  test('messages of a new person at the same moment make one contact', async () => {
    await Promise.all(Array.from({ length: 10 }, () => post(webhookBody([byPhone()]))))
    await Promise.all([settle(w, shop), settle(w, shop), processAllNews(w.platform)])
    await processAllNews(w.platform)
    expect((await shop.chat.get('/contacts')).body.data.total).toBe(1)
  })
})

describe('templates', () => {
  test('are paused, brought back and moved to another category by webhook', async () => {
    await approvedTemplate(w, shop, { name: 'ad', components: [{ type: 'BODY', text: 'Buy' }] })
    const update = (event: string) => ({
      field: 'message_template_status_update',
      value: {
        event,
        message_template_id: Number.MAX_SAFE_INTEGER * 3,
        message_template_name: 'ad',
        message_template_language: 'en_US',
        reason: null,
      },
    })
    const state = async () => (await shop.chat.get('/templates/ad')).body.data
    await tell(update('PAUSED'))
    expect((await state()).status).toBe('PAUSED')
    await tell(update('REINSTATED'))
    expect((await state()).status).toBe('APPROVED')
    await tell({
      field: 'template_category_update',
      value: { message_template_name: 'ad', message_template_language: 'en_US', new_category: 'MARKETING' },
    })
    expect((await state()).category).toBe('MARKETING')
  })
})

describe('the test clock', () => {
  test('keeps nobody from sending: the sandbox reviews templates while it stands still', async () => {
    const mine = await w.business({ testMode: true })
    await mine.account.put('/clock', { now: '2026-03-01T10:00:00.000Z' })
    const definition = { name: 'hello', language: 'en_US', category: 'UTILITY' }
    const made = await mine.chat.post('/templates', { ...definition, components: [{ type: 'BODY', text: 'Hello' }] })
    expect(made.body.data.status).toBe('PENDING')
    await processAllNews(w.platform)
    expect((await mine.chat.get('/templates/hello')).body.data.status).toBe('APPROVED')
  })

  test('lets the reports of the sandbox arrive when it gets there', async () => {
    const mine = await w.business({ testMode: true })
    await mine.account.put('/clock', { now: '2026-03-01T10:00:00.000Z' })
    const answer = await mine.chat.post('/messages', { to: 14155550100, type: 'text', text: 'x' })
    await processAllNews(w.platform)
    const read = async () =>
      (await mine.chat.get(`/conversations/${answer.body.data.chatId}/messages`)).body.data.messages[0]
    expect(await read()).toMatchObject({ status: 'accepted', createdAt: '2026-03-01T10:00:00.000Z' })
    expect((await mine.account.post('/clock/advance', { hours: 1 })).status).toBe(200)
    expect(await read()).toMatchObject({ status: 'read', readAt: '2026-03-01T10:00:01.000Z' })
  })
})
