import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'
import {
  approvedTemplate,
  countMessages,
  expectRefused,
  lastPayload,
  sentMessage,
  settle,
  withField,
} from './chat-shop.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
  shop = await w.business()
})
afterAll(() => w.close())

const to = 919876543210
const send = (body: object) => shop.chat.post('/messages', body)
const characters = (count: number) => '😀'.repeat(count)
const products = (count: number) => Array.from({ length: count }, (_, i) => ({ productRetailerId: `sku-${i}` }))
const rows = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `r${i}`, title: `Row ${i}` }))

interface KindCase {
  kind: string
  body: Record<string, unknown>
  payload: object
  /** field, its limit in characters */
  limits: [string, number][]
  required: string[]
  answersSuccess?: boolean
}

const interactive = (interactiveType: string, more: object) => ({ to, type: 'interactive', interactiveType, ...more })

const cases: KindCase[] = [
  {
    kind: 'text',
    body: { to, type: 'text', text: 'Hello', previewUrl: true },
    payload: { type: 'text', text: { body: 'Hello', preview_url: true } },
    limits: [['text', 4096]],
    required: ['text'],
  },
  ...(['image', 'video'] as const).map(kind => ({
    kind,
    body: { to, type: kind, link: 'https://example.com/a', caption: 'Look' },
    payload: { type: kind, [kind]: { link: 'https://example.com/a', caption: 'Look' } },
    limits: [['caption', 1024]] as [string, number][],
    required: ['link'],
  })),
  {
    kind: 'audio',
    body: { to, type: 'audio', link: 'https://example.com/a.ogg', voice: true },
    payload: { type: 'audio', audio: { link: 'https://example.com/a.ogg', voice: true } },
    limits: [],
    required: ['link'],
  },
  {
    kind: 'document',
    body: { to, type: 'document', link: 'https://example.com/a.pdf', caption: 'Bill', filename: 'bill.pdf' },
    payload: {
      type: 'document',
      document: { link: 'https://example.com/a.pdf', caption: 'Bill', filename: 'bill.pdf' },
    },
    limits: [
      ['caption', 1024],
      ['filename', 240],
    ],
    required: ['link'],
  },
  {
    kind: 'multi-product',
    body: interactive('product_list', {
      header: 'Our best',
      body: 'Choose',
      footer: 'Today only',
      action: { catalogId: '123' },
      sections: [
        { title: 'Fruit', products: products(2) },
        { title: 'Nuts', products: [{ productRetailerId: 'nut' }] },
      ],
    }),
    payload: {
      type: 'interactive',
      interactive: {
        type: 'product_list',
        header: { type: 'text', text: 'Our best' },
        body: { text: 'Choose' },
        footer: { text: 'Today only' },
        action: {
          catalog_id: '123',
          sections: [
            { title: 'Fruit', product_items: [{ product_retailer_id: 'sku-0' }, { product_retailer_id: 'sku-1' }] },
            { title: 'Nuts', product_items: [{ product_retailer_id: 'nut' }] },
          ],
        },
      },
    },
    limits: [
      ['header', 60],
      ['body', 1024],
      ['footer', 60],
      ['sections[0].title', 24],
    ],
    required: ['header', 'body', 'action', 'action.catalogId', 'sections', 'sections[0].title', 'sections[0].products'],
    answersSuccess: true,
  },
  {
    kind: 'single product',
    body: interactive('product', {
      body: 'This one',
      footer: 'Cheap',
      action: { catalogId: '123', productRetailerId: 'sku-1' },
    }),
    payload: {
      type: 'interactive',
      interactive: {
        type: 'product',
        body: { text: 'This one' },
        footer: { text: 'Cheap' },
        action: { catalog_id: '123', product_retailer_id: 'sku-1' },
      },
    },
    limits: [
      ['body', 1024],
      ['footer', 60],
    ],
    required: ['action', 'action.catalogId', 'action.productRetailerId'],
  },
  {
    kind: 'catalog',
    body: interactive('catalog_message', {
      body: 'All we have',
      footer: 'Have a look',
      action: { thumbnailProductRetailerId: 'sku-1' },
    }),
    payload: {
      type: 'interactive',
      interactive: {
        type: 'catalog_message',
        body: { text: 'All we have' },
        footer: { text: 'Have a look' },
        action: { name: 'catalog_message', parameters: { thumbnail_product_retailer_id: 'sku-1' } },
      },
    },
    limits: [
      ['body', 1024],
      ['footer', 60],
    ],
    required: ['body'],
  },
  {
    kind: 'list',
    body: interactive('list', {
      header: 'Menu',
      body: 'What shall it be?',
      footer: 'All fresh',
      action: { button: 'Choose' },
      sections: [
        { title: 'Soups', rows: [{ id: 's1', title: 'Tomato', description: 'hot' }] },
        { title: 'Cakes', rows: [{ id: 'c1', title: 'Apple' }] },
      ],
    }),
    payload: {
      type: 'interactive',
      interactive: {
        type: 'list',
        header: { type: 'text', text: 'Menu' },
        body: { text: 'What shall it be?' },
        footer: { text: 'All fresh' },
        action: {
          button: 'Choose',
          sections: [
            { title: 'Soups', rows: [{ id: 's1', title: 'Tomato', description: 'hot' }] },
            { title: 'Cakes', rows: [{ id: 'c1', title: 'Apple' }] },
          ],
        },
      },
    },
    limits: [
      ['header', 60],
      ['body', 4096],
      ['footer', 60],
      ['action.button', 20],
      ['sections[0].title', 24],
      ['sections[0].rows[0].id', 200],
      ['sections[0].rows[0].title', 24],
      ['sections[0].rows[0].description', 72],
    ],
    required: [
      'body',
      'action',
      'action.button',
      'sections',
      'sections[0].rows',
      'sections[0].rows[0].id',
      'sections[1].title',
    ],
  },
  {
    kind: 'reply buttons',
    body: interactive('button', {
      header: { type: 'image', link: 'https://example.com/a.png' },
      body: 'Yes or no?',
      footer: 'Tap one',
      action: {
        buttons: [
          { id: 'y', title: 'Yes' },
          { id: 'n', title: 'No' },
        ],
      },
    }),
    payload: {
      type: 'interactive',
      interactive: {
        type: 'button',
        header: { type: 'image', image: { link: 'https://example.com/a.png' } },
        body: { text: 'Yes or no?' },
        footer: { text: 'Tap one' },
        action: {
          buttons: [
            { type: 'reply', reply: { id: 'y', title: 'Yes' } },
            { type: 'reply', reply: { id: 'n', title: 'No' } },
          ],
        },
      },
    },
    limits: [
      ['header', 60],
      ['body', 1024],
      ['footer', 60],
      ['action.buttons[0].title', 20],
      ['action.buttons[0].id', 256],
    ],
    required: ['body', 'action', 'action.buttons', 'action.buttons[0].id', 'action.buttons[0].title'],
  },
  {
    kind: 'CTA URL',
    body: interactive('cta_url', {
      header: 'News',
      body: 'Read on',
      footer: 'Takes a minute',
      action: { displayText: 'Open', url: 'https://example.com/news' },
    }),
    payload: {
      type: 'interactive',
      interactive: {
        type: 'cta_url',
        header: { type: 'text', text: 'News' },
        body: { text: 'Read on' },
        footer: { text: 'Takes a minute' },
        action: { name: 'cta_url', parameters: { display_text: 'Open', url: 'https://example.com/news' } },
      },
    },
    limits: [
      ['header', 60],
      ['body', 1024],
      ['footer', 60],
      ['action.displayText', 20],
    ],
    required: ['body', 'action', 'action.displayText', 'action.url'],
  },
  {
    kind: 'address request',
    body: interactive('address_message', {
      body: 'Where to?',
      footer: 'We deliver',
      action: {
        country: 'IN',
        values: { name: 'Asha', in_pin_code: '400063' },
        savedAddresses: [{ id: 'a1', value: { city: 'Mumbai' } }],
        validationErrors: { in_pin_code: 'We do not deliver there' },
      },
    }),
    payload: {
      type: 'interactive',
      interactive: {
        type: 'address_message',
        body: { text: 'Where to?' },
        footer: { text: 'We deliver' },
        action: {
          name: 'address_message',
          parameters: {
            country: 'IN',
            values: { name: 'Asha', in_pin_code: '400063' },
            saved_addresses: [{ id: 'a1', value: { city: 'Mumbai' } }],
            validation_errors: { in_pin_code: 'We do not deliver there' },
          },
        },
      },
    },
    limits: [
      ['body', 1024],
      ['footer', 60],
    ],
    required: ['body', 'action', 'action.country'],
  },
  {
    kind: 'location request',
    body: interactive('location_request_message', { body: 'Where are you?' }),
    payload: {
      type: 'interactive',
      interactive: {
        type: 'location_request_message',
        body: { text: 'Where are you?' },
        action: { name: 'send_location' },
      },
    },
    limits: [['body', 1024]],
    required: ['body'],
  },
]

describe.each(cases)('POST /messages: $kind', ({ kind, body, payload, limits, required, answersSuccess }) => {
  test('becomes exactly the payload of the platform and answers the sent message', async () => {
    const answer = await send(body)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toEqual({
      ...(answersSuccess ? { success: true } : { status: 'success' }),
      message: expect.any(String),
      data: sentMessage(String(to)),
    })
    expect(await lastPayload(w, shop)).toEqual(payload)
    const { data } = (await shop.chat.get(`/conversations/${answer.body.data.chatId}/messages?limit=1`)).body
    expect(data.messages[0]).toMatchObject({ kind, direction: 'out', status: 'accepted' })
  })

  test.each(limits)('%s may have %i characters, not one more', async (field, limit) => {
    const good = await send(withField(body, field, characters(limit)))
    expect(good.status, good.text).toBe(200)
    expectRefused(await send(withField(body, field, characters(limit + 1))), 400, field, limit)
    expectRefused(await send(withField(body, field, '')), 400, field)
  })

  test.each(required)('%s is required', async field => {
    expectRefused(await send(withField(body, field, undefined)), 400, field)
  })
})

describe('POST /messages: counts and forms', () => {
  const body = (kind: string) => cases.find(one => one.kind === kind)!.body

  test('multi-product: 10 sections and 30 products in total', async () => {
    const sections = (count: number, each: number) =>
      Array.from({ length: count }, (_, i) => ({ title: `S${i}`, products: products(each) }))
    expect((await send({ ...body('multi-product'), sections: sections(10, 3) })).status).toBe(200)
    expectRefused(await send({ ...body('multi-product'), sections: sections(11, 1) }), 400, 'sections', 10)
    expectRefused(
      await send({ ...body('multi-product'), sections: [{ title: 'x', products: products(31) }] }),
      400,
      'sections',
      30,
    )
    expectRefused(await send({ ...body('multi-product'), sections: [] }), 400, 'sections')
    expectRefused(
      await send({ ...body('multi-product'), sections: [{ title: 'x', products: [] }] }),
      400,
      'sections[0].products',
    )
  })

  test('multi-product: interactiveType may be left out', async () => {
    const { interactiveType, ...rest } = body('multi-product')
    expect(interactiveType).toBe('product_list')
    expect((await send(rest)).body).toMatchObject({ success: true })
  })

  test('list: 10 sections, 10 rows over all, ids once, a title where there are several sections', async () => {
    const one = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ title: `S${i}`, rows: [{ id: `r${i}`, title: 'x' }] }))
    expect((await send({ ...body('list'), sections: one(10) })).status).toBe(200)
    expectRefused(await send({ ...body('list'), sections: one(11) }), 400, 'sections', 10)
    expect((await send({ ...body('list'), sections: [{ rows: rows(10) }] })).status).toBe(200)
    expectRefused(await send({ ...body('list'), sections: [{ rows: rows(11) }] }), 400, 'sections', 10)
    expectRefused(await send({ ...body('list'), sections: [{ rows: [...rows(1), ...rows(1)] }] }), 400)
  })

  test('reply buttons: 1 to 3, unique, ids without outer spaces', async () => {
    const buttons = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `b${i}`, title: `B${i}` }))
    const put = (list: object[]) => send({ ...body('reply buttons'), action: { buttons: list } })
    expect((await put(buttons(3))).status).toBe(200)
    expectRefused(await put(buttons(4)), 400, 'action.buttons', 3)
    expectRefused(await put([]), 400, 'action.buttons')
    expectRefused(
      await put([
        { id: 'a', title: 'A' },
        { id: 'a', title: 'B' },
      ]),
      400,
      'action.buttons[1].id',
    )
    expectRefused(
      await put([
        { id: 'a', title: 'A' },
        { id: 'b', title: 'A' },
      ]),
      400,
      'action.buttons[1].title',
    )
    expectRefused(await put([{ id: ' a', title: 'A' }]), 400, 'action.buttons[0].id')
  })

  test('media: exactly one of link and mediaId, and a link is a URL', async () => {
    expect((await send({ to, type: 'image', mediaId: '1234567890' })).status).toBe(200)
    expect(await lastPayload(w, shop)).toEqual({ type: 'image', image: { id: '1234567890' } })
    expectRefused(await send({ to, type: 'image', mediaId: '1', link: 'https://example.com/a' }), 400, 'mediaId')
    for (const link of ['ftp://example.com/a', 'example.com/a.png', 'https://', 'javascript:alert(1)', 5])
      expectRefused(await send({ to, type: 'image', link }), 400, 'link')
  })

  test('fields the platform has no place for are refused, not lost', async () => {
    expectRefused(await send({ ...body('single product'), header: 'x' }), 400, 'header')
    expectRefused(await send({ ...body('catalog'), header: 'x' }), 400, 'header')
    expectRefused(await send({ ...body('location request'), footer: 'x' }), 400, 'footer')
    expectRefused(await send({ ...body('audio'), caption: 'x' }), 400, 'caption')
  })

  test('address request: India only, six digits, and the number must be there', async () => {
    expectRefused(await send(withField(body('address request'), 'action.country', 'DE')), 400, 'action.country', 'IN')
    expectRefused(
      await send(withField(body('address request'), 'action.values.in_pin_code', '4000')),
      400,
      'action.values.in_pin_code',
    )
    expect((await send({ ...body('address request'), to: 14155550100 })).body.code).toBe('address_country_mismatch')
  })

  test('unknown kinds are refused with the list of kinds', async () => {
    for (const wrong of [{ type: 'smoke' }, { type: '' }, { type: 'interactive', interactiveType: 'flow' }]) {
      const answer = await send({ to, ...wrong })
      expectRefused(answer, 400)
      expect(answer.body.code).toBe('unknown_message_kind')
      expect(answer.body.message).toContain('multi-product')
      expect(answer.body.message).toContain('LTO template')
    }
    expectRefused(await send({ to }), 400, 'type')
    expectRefused(await send({ type: 'text', text: 'x' }), 400, 'to')
  })

  test.each([
    [1234567, 200],
    [123456, 400],
    ['+1 (415) 555-0100', 200],
    [123456789012345, 200],
    ['1234567890123456', 400],
    [-14155550100, 400],
    ['nobody', 400],
    [1.5, 400],
    [null, 400],
    [[14155550100], 400],
  ])('to %j answers %i', async (number, status) => {
    const answer = await send({ to: number, type: 'text', text: 'x' })
    expect(answer.status, answer.text).toBe(status)
    if (status === 400) expect(answer.body.errors[0].field).toBe('to')
  })

  test('nothing is written for a refused message', async () => {
    const before = await countMessages(w, shop)
    await send({ to, type: 'text', text: '' })
    await send({ to, type: 'nothing' })
    expect(await countMessages(w, shop)).toBe(before)
  })

  test('replyTo quotes a message', async () => {
    await send({ to, type: 'text', body: 'as body', replyTo: 'wamid.abc' })
    expect(await lastPayload(w, shop)).toEqual({
      type: 'text',
      text: { body: 'as body' },
      context: { message_id: 'wamid.abc' },
    })
  })
})

describe('POST /messages: the contact of the recipient', () => {
  test('is made with the first message, one conversation for one number', async () => {
    const mine = await w.business()
    const first = await mine.chat.post('/messages', { to: 14155550101, type: 'text', text: 'a' })
    const second = await mine.chat.post('/messages', { to: '+1 415 555 0101', type: 'text', text: 'b' })
    expect(second.body.data.chatId).toBe(first.body.data.chatId)
    const { data } = (await mine.chat.get('/contacts')).body
    expect(data).toMatchObject({
      total: 1,
      contacts: [{ mobile: '14155550101', source: 'api', optin: true, countryCode: '1' }],
    })
  })

  test('what the send says of consent counts for its own message', async () => {
    const mine = await w.business()
    await approvedTemplate(w, mine, { name: 'ad', category: 'MARKETING', components: [{ type: 'BODY', text: 'Buy' }] })
    const ad = (number: number, contact?: object) =>
      mine.chat.post('/messages', { to: number, type: 'template', templateName: 'ad', ...(contact && { contact }) })
    const refused = await ad(14155550111, { optin: false, name: 'Ann' })
    expect([refused.status, refused.body.code]).toEqual([422, 'contact_opted_out'])
    expect((await mine.chat.get('/contacts?mobile=14155550111')).body.data.total).toBe(0)
    await mine.chat.post('/contacts', { mobile: 14155550112, optin: false })
    expect((await ad(14155550112)).body.code).toBe('contact_opted_out')
    expect((await ad(14155550112, { name: 'Ben' })).body.code).toBe('contact_opted_out')
    expect((await ad(14155550112, { optin: true })).status).toBe(200)
    expect((await ad(14155550112)).status).toBe(200)
  })

  test('is changed by contact, as a value or as JSON text; what the settings lack is refused', async () => {
    const mine = await w.business()
    await mine.chat.post('/settings/tags', { name: 'vip' })
    await mine.chat.post('/settings/attributes', { name: 'city' })
    const contact = { name: 'Asha', tags: ['vip'], attributes: [{ name: 'city', value: 'Pune' }], list: ['Buyers'] }
    await mine.chat.post('/messages', { to, type: 'text', text: 'a', contact })
    const read = async () => (await mine.chat.get('/contacts')).body.data.contacts[0]
    expect(await read()).toMatchObject({ name: 'Asha', tags: ['vip'], list: ['Buyers'], __v: 0 })
    await mine.chat.post('/messages', {
      to,
      type: 'text',
      text: 'a',
      contact: JSON.stringify({ name: 'Asha Rao', optin: false }),
    })
    expect(await read()).toMatchObject({ name: 'Asha Rao', tags: ['vip'], optin: false, __v: 1 })
    await mine.chat.post('/settings/tags', { name: 'new' })
    const spelled = { tags: 'new, vip', attributes: '[{"name":"city","value":"Goa"}]', list: '["Guests"]' }
    for (const contact of [spelled, JSON.stringify(spelled)]) {
      const answer = await mine.chat.post('/messages', { to, type: 'text', text: 'a', contact })
      expect(answer.status, answer.text).toBe(200)
      expect(await read()).toMatchObject({ tags: ['new', 'vip'], attributes: [{ value: 'Goa' }], list: ['Guests'] })
    }
    const refused = await mine.chat.post('/messages', { to, type: 'text', text: 'a', contact: { tags: ['nope'] } })
    expect(refused.status).toBe(422)
    expect(refused.body.message).toContain('"nope"')
    expect(await countMessages(w, mine)).toBe(4)
    expectRefused(await mine.chat.post('/messages', { to, type: 'text', text: 'a', contact: 5 }), 400, 'contact')
  })

  test('twenty first messages to one number at once make one contact and twenty messages', async () => {
    const mine = await w.business()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => mine.chat.post('/messages', { to, type: 'text', text: 'a' })),
    )
    expect(new Set(answers.map(answer => answer.body.data?.chatId)).size).toBe(1)
    expect((await mine.chat.get('/contacts')).body.data.total).toBe(1)
    expect(await countMessages(w, mine)).toBe(20)
    const chat = w.services.find(service => service.name === 'chat')!
    expect(await chat.audit(w.platform, mine.id)).toEqual([])
  })
})

describe('POST /messages: what became of it', () => {
  test('the sandbox reports sent, delivered and read', async () => {
    const answer = await send({ to: 14155550111, type: 'text', text: 'x' })
    const read = async () =>
      (await shop.chat.get(`/conversations/${answer.body.data.chatId}/messages`)).body.data.messages[0]
    expect(await read()).toMatchObject({ status: 'accepted', sentAt: null })
    await settle(w, shop)
    expect(await read()).toMatchObject({
      status: 'read',
      sentAt: expect.any(String),
      deliveredAt: expect.any(String),
      readAt: expect.any(String),
      error: null,
    })
    const events = await w.db<{ type: string }[]>`
      select type from event where business_id = ${shop.id} and object_id = ${answer.body.data.chatId} order by id`
    expect(events.map(event => event.type)).toEqual([
      'contact_create',
      'message_sent',
      'message_delivered',
      'message_read',
    ])
  })

  test.each([131026, 131047, 131049, 131050, 131053])(
    'a number ending in %i fails later with that code',
    async code => {
      const answer = await send({ to: `1415${code}`, type: 'text', text: 'x' })
      expect(answer.status).toBe(200)
      await settle(w, shop)
      const { messages } = (await shop.chat.get(`/conversations/${answer.body.data.chatId}/messages`)).body.data
      expect(messages[0]).toMatchObject({ status: 'failed', error: { code, title: expect.any(String) } })
      const contact = (await shop.chat.get(`/contacts/${answer.body.data.chatId}`)).body.data
      expect(contact.optin).toBe(code !== 131050)
    },
  )

  test('a number ending in 131009 is refused at once with code, title and details', async () => {
    const answer = await send({ to: '1415131009', type: 'text', text: 'x' })
    expectRefused(answer, 422, 'platform.code', '(131009) Parameter value is not valid')
    expect(answer.body.code).toBe('channel_rejected')
  })

  test("the platform's rate limit answers 429 with Retry-After", async () => {
    for (const code of [130429, 131056]) {
      const answer = await send({ to: `1415${code}`, type: 'text', text: 'x' })
      expect(answer.status, answer.text).toBe(429)
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
  })

  test('unreachable answers 502, an outcome that is unknown 504 and is settled by its status', async () => {
    const away = await send({ to: '1415999502', type: 'text', text: 'x' })
    expect(away.status).toBe(502)
    expect(away.body.code).toBe('channel_unreachable')
    const lost = await send({ to: '1415999504', type: 'text', text: 'x' })
    expect(lost.status).toBe(504)
    const id = /message ([0-9a-f]{24})/.exec(lost.body.message)![1]
    expect((await shop.chat.get(`/messages/${id}`)).body.data).toMatchObject({ status: 'unknown', platformId: null })
    await settle(w, shop)
    expect((await shop.chat.get(`/messages/${id}`)).body.data).toMatchObject({
      status: 'read',
      platformId: expect.stringMatching(/^wamid\./),
    })
  })

  test('a stop by the platform halts what it stopped until the settings are saved', async () => {
    const mine = await w.business()
    expect((await mine.chat.post('/messages', { to: '1415131031', type: 'text', text: 'x' })).status).toBe(422)
    const halted = await mine.chat.post('/messages', { to, type: 'text', text: 'x' })
    expect(halted.status).toBe(422)
    expect(halted.body.code).toBe('channel_halted')
    expect((await mine.chat.get('/settings/channel')).body.data.halted.account).toMatchObject({ code: 131031 })
    await mine.chat.put('/settings/channel', {})
    expect((await mine.chat.post('/messages', { to, type: 'text', text: 'x' })).status).toBe(200)
  })

  test('a message of another business is not found', async () => {
    const answer = await send({ to, type: 'text', text: 'x' })
    const other = await w.business()
    expect((await other.chat.get(`/conversations/${answer.body.data.chatId}/messages`)).status).toBe(404)
  })
})

describe('POST /messages: Idempotency-Key', () => {
  const key = (name: string) => ({ 'idempotency-key': name })

  test('the same key answers the same bytes and sends once', async () => {
    const before = await countMessages(w, shop)
    const body = { to, type: 'text', text: 'once' }
    const first = await shop.chat.post('/messages', body, key('k1'))
    const again = await shop.chat.post('/messages', body, key('k1'))
    expect(again.text).toBe(first.text)
    expect(await countMessages(w, shop)).toBe(before + 1)
    expect((await shop.chat.post('/messages', { ...body, text: 'other' }, key('k1'))).status).toBe(422)
  })

  test('100 parallel requests with one key send once', async () => {
    const before = await countMessages(w, shop)
    const body = { to, type: 'text', text: 'crowd' }
    const answers = await Promise.all(Array.from({ length: 100 }, () => shop.chat.post('/messages', body, key('k2'))))
    expect(await countMessages(w, shop)).toBe(before + 1)
    const good = answers.filter(answer => answer.status === 200)
    expect(good.length).toBeGreaterThan(0)
    expect(new Set(good.map(answer => answer.text)).size).toBe(1)
    expect(answers.every(answer => answer.status === 200 || answer.status === 409)).toBe(true)
  })

  test('an unknown outcome is answered again, never sent again', async () => {
    const before = await countMessages(w, shop)
    const body = { to: '1416999504', type: 'text', text: 'x' }
    const first = await shop.chat.post('/messages', body, key('k3'))
    const again = await shop.chat.post('/messages', body, key('k3'))
    expect([first.status, again.status]).toEqual([504, 504])
    expect(await countMessages(w, shop)).toBe(before + 1)
  })

  test('after a refusal the key may be used for a corrected message', async () => {
    expect((await shop.chat.post('/messages', { to: '1415131009', type: 'text', text: 'x' }, key('k4'))).status).toBe(
      422,
    )
    expect((await shop.chat.post('/messages', { to, type: 'text', text: 'x' }, key('k4'))).status).toBe(200)
  })

  test('a key of yesterday may be used again, and one of a business that lives in another time counts a day too', async () => {
    const body = { to, type: 'text', text: 'daily' }
    const old = await shop.chat.post('/messages', body, key('k6'))
    await w.db`delete from idempotency_key where business_id = ${shop.id} and key = 'k6'`
    await w.db`update chat_message set id = '0' || substr(id, 2) where business_id = ${shop.id} and idempotency_key = 'k6'`
    const fresh = await shop.chat.post('/messages', body, key('k6'))
    expect(fresh.status).toBe(200)
    expect(fresh.body.data.platformResponse.messages).not.toEqual(old.body.data.platformResponse.messages)
    const past = await w.business({ testMode: true })
    await past.account.put('/clock', { now: '2020-01-01T00:00:00.000Z' })
    const first = await past.chat.post('/messages', body, key('k7'))
    await w.db`delete from idempotency_key where business_id = ${past.id} and key = 'k7'`
    expect((await past.chat.post('/messages', body, key('k7'))).body).toEqual(first.body)
    expect(await countMessages(w, past)).toBe(1)
  })

  test('a repeat after a crash answers from what was written and sends nothing', async () => {
    const body = { to, type: 'text', text: 'crash' }
    const first = await shop.chat.post('/messages', body, key('k5'))
    const before = await countMessages(w, shop)
    await w.db`update idempotency_key set state = 'running', running_until = now() - interval '1 second', body = null
      where business_id = ${shop.id} and key = 'k5'`
    const again = await shop.chat.post('/messages', body, key('k5'))
    expect(again.status).toBe(200)
    expect(again.body).toEqual(first.body)
    expect(await countMessages(w, shop)).toBe(before)
  })
})
