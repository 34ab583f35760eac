import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stepBroadcasts } from '../../src/chat/broadcasts/loops.ts'
import { processAllNews } from '../../src/chat/channel/loops.ts'
import { fetchWaiting } from '../../src/chat/media/fetch.ts'
import { type FakePlatform, fakeAccountId, fakeNumberId, incomingChange, startFakePlatform } from '../fake-platform.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import { approvedTemplate, expectRefused, lastPayload } from './chat-shop.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1/32'] })
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

const mb = 1024 * 1024
const jpeg = (size = 1_000) => Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(size - 3, 7)])
const upload = (content: Buffer, type = 'image/jpeg', query = '') =>
  shop.chat.post(`/media${query}`, content, { 'content-type': type })
const download = (id: string) =>
  w.app.inject({
    url: `${shop.chat.baseUrl}/media/${id}/content`,
    headers: { authorization: shop.chat.authorization },
  })

describe('POST /media, GET and DELETE /media/{id}', () => {
  test('keeps a file of several pieces, shows it and gives it back byte by byte', async () => {
    const content = jpeg(3 * mb + 17)
    const answer = await upload(content, 'image/jpeg', `?filename=${encodeURIComponent('Kätzchen.jpg')}`)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Media stored',
      data: {
        _id: expect.stringMatching(/^[0-9a-f]{24}$/),
        direction: 'out',
        kind: 'image',
        status: 'stored',
        mimeType: 'image/jpeg',
        filename: 'Kätzchen.jpg',
        size: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
        messageId: null,
        error: '',
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    })
    const { _id } = answer.body.data
    expect((await shop.chat.get(`/media/${_id}`)).body.data).toEqual(answer.body.data)
    const file = await download(_id)
    expect(file.statusCode).toBe(200)
    expect(file.headers).toMatchObject({
      'content-type': 'image/jpeg',
      'content-length': String(content.length),
      'x-content-type-options': 'nosniff',
      'content-disposition': "attachment; filename*=UTF-8''K%C3%A4tzchen.jpg",
    })
    expect(file.rawPayload.equals(content)).toBe(true)
    const other = await w.business()
    for (const path of [`/media/${_id}`, `/media/${_id}/content`]) expect((await other.chat.get(path)).status).toBe(404)
    expect((await other.chat.delete(`/media/${_id}`)).status).toBe(404)
    expect((await shop.chat.delete(`/media/${_id}`)).status).toBe(200)
    expect((await shop.chat.get(`/media/${_id}`)).status).toBe(404)
    expect(await w.db`select 1 from chat_media_piece where business_id = ${shop.id}`).toHaveLength(0)
  })

  test.each([
    ['image/jpeg', 5 * mb],
    ['video/mp4', 16 * mb],
    ['audio/mpeg', 16 * mb],
  ])('%s may have %i bytes, and not one more', async (type, limit) => {
    const content = type === 'image/jpeg' ? jpeg(limit + 1) : Buffer.alloc(limit + 1)
    expect((await upload(content.subarray(0, limit), type)).status).toBe(200)
    const refused = await upload(content, type)
    expectRefused(refused, 413, undefined, limit)
    expect(refused.body.code).toBe('media_too_large')
    expect(await w.db`select 1 from chat_media where business_id = ${shop.id}`).toHaveLength(1)
  })

  test('what the platform would not take is refused at once', async () => {
    expect((await upload(Buffer.from('GIF89a'), 'image/gif')).status).toBe(415)
    expect((await upload(Buffer.from('RIFF'), 'image/webp')).status).toBe(415)
    expect((await upload(Buffer.from('x'), 'multipart/form-data; boundary=x')).status).toBe(415)
    expect((await upload(Buffer.from('{}'), 'application/json')).status).toBe(415)
    expect((await upload(Buffer.from('no picture'), 'image/png')).body.code).toBe('media_invalid')
    expect((await upload(Buffer.alloc(0), 'text/plain')).body.code).toBe('media_empty')
    expect((await upload(Buffer.from('notes'), 'text/plain; charset=utf-8')).body.data).toMatchObject({
      kind: 'document',
    })
    expect(await w.db`select 1 from chat_media where business_id = ${shop.id}`).toHaveLength(1)
  })
})

describe('through the sandbox', () => {
  test('a file is sent by its id, and a person sends one back', async () => {
    const { _id } = (await upload(jpeg())).body.data
    const sent = await shop.chat.post('/messages', { to: 14155550100, type: 'image', mediaId: _id, caption: 'Look' })
    expect(sent.status, sent.text).toBe(200)
    expect(await lastPayload(w, shop)).toMatchObject({ image: { id: expect.stringMatching(/^\d+$/), caption: 'Look' } })
    const messages = (await shop.chat.get(`/conversations/${sent.body.data.chatId}/messages`)).body.data.messages
    expect(messages[0]).toMatchObject({ kind: 'image', mediaId: _id })
    await shop.chat.post('/sandbox/messages', { from: 14155550100, message: { type: 'image', image: { id: _id } } })
    const [came] = (await shop.chat.get(`/conversations/${sent.body.data.chatId}/messages`)).body.data.messages
    expect((await shop.chat.get(`/media/${came.mediaId}`)).body.data).toMatchObject({
      status: 'waiting',
      direction: 'in',
    })
    expect((await download(came.mediaId)).statusCode).toBe(409)
    await fetchWaiting(w.platform)
    expect((await download(came.mediaId)).rawPayload.equals(jpeg())).toBe(true)
  })

  test('ids that are none, of another kind or of another business are refused', async () => {
    const { _id } = (await upload(Buffer.from('notes'), 'text/plain')).body.data
    const send = (mediaId: string, type = 'image') => shop.chat.post('/messages', { to: 14155550100, type, mediaId })
    expectRefused(await send(_id), 400, 'mediaId')
    expectRefused(await send('not-an-id'), 400, 'mediaId')
    expect((await send('f'.repeat(24))).status).toBe(404)
    expect((await send(_id, 'document')).status).toBe(200)
    expect((await send('123456789')).status).toBe(200)
    shop = await w.business()
    expect((await send(_id, 'document')).status).toBe(404)
  })
})

describe('through the platform', () => {
  let fake: FakePlatform
  let webhook: string
  const template = {
    name: 'picture',
    category: 'MARKETING',
    components: [
      { type: 'HEADER', format: 'IMAGE' },
      { type: 'BODY', text: 'Hi {{1}}, look at this.' },
    ],
  }
  beforeEach(async () => {
    await approvedTemplate(w, shop, template)
    fake = await startFakePlatform({ seed: 9 })
    const answer = await shop.chat.put('/settings/channel', {
      type: 'cloud',
      baseUrl: fake.baseUrl,
      phoneNumberId: fakeNumberId,
      businessAccountId: fakeAccountId,
      accessToken: 'good-token',
      appSecret: 'app-secret',
      enforceWindow: false,
    })
    webhook = new URL(answer.body.data.webhookUrl).pathname
    fake.templates.set('picture:en_US', {
      id: '1',
      language: 'en_US',
      status: 'APPROVED',
      parameterFormat: 'POSITIONAL',
      ...template,
    })
    return () => fake.close()
  })
  const uploads = () => fake.calls.filter(call => call.path.endsWith('/media'))
  const receive = async (message: object) => {
    fake.news.push({ afterMs: 0, change: incomingChange(message) })
    await fake.deliver(async (body, headers) => {
      const answer = await w.app.inject({ method: 'POST', url: webhook, payload: body, headers })
      return { status: answer.statusCode }
    })
    await processAllNews(w.platform)
  }
  const photo = (id: string, more: object = {}) => ({
    from: '14155550100',
    id: `wamid.${id}`,
    timestamp: '1790000000',
    type: 'image',
    image: { id, mime_type: 'image/jpeg', sha256: 'x', ...more },
  })

  test('a file is uploaded to the number once, then sent by what the platform calls it', async () => {
    const { _id } = (await upload(jpeg(), 'image/jpeg', '?filename=a%22b.jpg')).body.data
    for (const to of [14155550100, 14155550101])
      expect((await shop.chat.post('/messages', { to, type: 'image', mediaId: _id })).status).toBe(200)
    expect(uploads()).toHaveLength(1)
    const [id, media] = [...fake.media][0]!
    expect(media).toMatchObject({ mimeType: 'image/jpeg' })
    expect(media.content.equals(jpeg())).toBe(true)
    expect(fake.accepted.map(one => one.payload.image)).toEqual([{ id }, { id }])
    await w.db`update chat_media_upload set expires_at = now() where business_id = ${shop.id}`
    expect((await shop.chat.post('/messages', { to: 14155550100, type: 'image', mediaId: _id })).status).toBe(200)
    expect(uploads()).toHaveLength(2)
  })

  test('a broadcast uploads its header once for everybody', async () => {
    await shop.chat.post('/contacts', [
      { mobile: 14155550100, name: 'Ann', list: ['All'] },
      { mobile: 14155550101, name: 'Bob', list: ['All'] },
    ])
    const { _id } = (await upload(jpeg())).body.data
    const body = { name: 'Pictures', templateName: 'picture', lists: ['All'], bodyParams: ['{{name}}'] }
    expect((await shop.chat.post('/broadcasts', { ...body, mediaId: 'f'.repeat(24) })).status).toBe(404)
    const made = await shop.chat.post('/broadcasts', { ...body, mediaId: _id })
    expect(made.status, made.text).toBe(200)
    while ((await stepBroadcasts(w.platform)) > 0);
    expect(uploads()).toHaveLength(1)
    const headers = fake.accepted.map(one => (one.payload.template as { components: object[] }).components[0])
    const header = { type: 'header', parameters: [{ type: 'image', image: { id: [...fake.media.keys()][0] } }] }
    expect(headers).toEqual([header, header])
  })

  test('what people send is fetched, kept and told', async () => {
    fake.media.set('777', { mimeType: 'image/png', content: Buffer.from('a picture') })
    await receive(photo('777'))
    await fetchWaiting(w.platform)
    const [row] = await w.db<{ id: string; mediaId: string }[]>`
      select id, media_id as "mediaId" from chat_message where business_id = ${shop.id}`
    expect((await shop.chat.get(`/messages/${row!.id}`)).body.data.mediaId).toBe(row!.mediaId)
    expect((await download(row!.mediaId)).payload).toBe('a picture')
    const [event] = await w.db<{ data: object }[]>`
      select data from event where business_id = ${shop.id} and type = 'media_received'`
    expect(event!.data).toMatchObject({
      _id: row!.mediaId,
      messageId: row!.id,
      status: 'stored',
      kind: 'image',
      mimeType: 'image/png',
      size: 9,
    })
    await receive(photo('777'))
    expect(await fetchWaiting(w.platform)).toBe(0)
  })

  test('what cannot be had is tried again later, and in the end told as failed; strange ids go nowhere', async () => {
    await receive(photo('888'))
    await fetchWaiting(w.platform)
    expect(await fetchWaiting(w.platform)).toBe(0)
    fake.media.set('888', { mimeType: 'image/png', content: Buffer.from('late') })
    await w.db`update chat_media set try_at = now() where business_id = ${shop.id}`
    await fetchWaiting(w.platform)
    const calls = fake.calls.length
    await receive(photo('../../me?fields=secret'))
    await w.db`update chat_media set attempt = 9 where business_id = ${shop.id} and status = 'waiting'`
    await fetchWaiting(w.platform)
    expect(fake.calls).toHaveLength(calls)
    const kept = await w.db<{ id: string; status: string }[]>`
      select id, status from chat_media where business_id = ${shop.id} order by id`
    expect(kept.map(one => one.status)).toEqual(['stored', 'failed'])
    expect((await download(kept[1]!.id)).statusCode).toBe(409)
  })
})
