import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'
import { approvedTemplate, expectRefused, lastPayload, sentMessage, settle } from './chat-shop.ts'

let w: World
let shop: TestBusiness
const to = 919876543210
const send = (body: object) => shop.chat.post('/messages', { to, type: 'template', ...body })

const bodyText = (text: string) => ({ type: 'BODY', text })
const image = { type: 'HEADER', format: 'IMAGE' }
const buttons = (...list: object[]) => ({ type: 'BUTTONS', buttons: list })
const url = (path = '{{1}}') => ({ type: 'URL', text: 'Open', url: `https://example.com/${path}` })
const reply = (text = 'More') => ({ type: 'QUICK_REPLY', text })
const card = (...more: object[]) => ({ components: [image, bodyText('Only {{1}} off'), ...more] })

const templates: Record<string, object> = {
  plain: { components: [bodyText('Good morning')] },
  text: {
    components: [{ type: 'HEADER', format: 'TEXT', text: 'Order {{1}}' }, bodyText('Hi {{1}}, yours is {{2}} now.')],
  },
  named: { parameter_format: 'NAMED', components: [bodyText('Hi {{first_name}}, see you {{day}} at noon.')] },
  media: { components: [image, bodyText('Hi {{1}}, look.')] },
  paper: { components: [{ type: 'HEADER', format: 'DOCUMENT' }, bodyText('Your bill')] },
  place: { components: [{ type: 'HEADER', format: 'LOCATION' }, bodyText('We are here')] },
  cta: {
    components: [
      bodyText('Hi {{1}}, have a look.'),
      buttons(
        reply('Yes'),
        reply('No'),
        url('static'),
        url('{{1}}'),
        { type: 'COPY_CODE' },
        {
          type: 'PHONE_NUMBER',
          text: 'Call',
          phone_number: '+14155550100',
        },
      ),
    ],
  },
  login: {
    category: 'AUTHENTICATION',
    components: [bodyText('Your code is {{1}}.'), buttons({ type: 'OTP', otp_type: 'COPY_CODE' })],
  },
  offer: {
    category: 'MARKETING',
    components: [
      image,
      bodyText('Hi {{1}}, be quick.'),
      { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'Ends soon', has_expiration: true } },
      buttons({ type: 'COPY_CODE' }, url()),
    ],
  },
  cards: {
    category: 'MARKETING',
    components: [
      bodyText('Hi {{1}}, three things.'),
      { type: 'CAROUSEL', cards: [card(buttons(reply(), url())), card(buttons(reply(), url()))] },
    ],
  },
  coupons: {
    category: 'MARKETING',
    components: [
      bodyText('Two codes'),
      { type: 'CAROUSEL', cards: [card(buttons({ type: 'COPY_CODE' })), card(buttons({ type: 'COPY_CODE' }))] },
    ],
  },
}

beforeAll(async () => {
  w = await world()
  shop = await w.business()
  for (const [name, template] of Object.entries(templates)) {
    const answer = await shop.chat.post('/templates', { name, language: 'en_US', category: 'UTILITY', ...template })
    expect(answer.status, answer.text).toBe(200)
  }
  await settle(w, shop)
})
afterAll(() => w.close())

const textParameter = (text: string, name?: string) => ({ type: 'text', ...(name && { parameter_name: name }), text })
const link = 'https://example.com/a.png'
const header = (type: string, more: object) => ({ type: 'header', parameters: [{ type, [type]: more }] })
const quickReply = (index: number, payload: string) => ({
  type: 'button',
  sub_type: 'quick_reply',
  index,
  parameters: [{ type: 'payload', payload }],
})
const urlButton = (index: number | string, text: string) => ({
  type: 'button',
  sub_type: 'url',
  index,
  parameters: [{ type: 'text', text }],
})
const coupon = (index: number, code: string) => ({
  type: 'button',
  sub_type: 'copy_code',
  index,
  parameters: [{ type: 'coupon_code', coupon_code: code }],
})
const ends = Date.now() + 86_400_000

const carousel = {
  templateName: 'cards',
  bodyParams: ['Asha'],
  carouselBodies: [{ bodyParams: ['10%'] }, { bodyParams: ['20%'] }],
  carouselFileData: [
    { fileUrl: 'https://example.com/1.png', fileName: '1.png' },
    { fileUrl: 'https://example.com/2.png', fileName: '2.png' },
  ],
  urlVariables: ['sku-1', 'sku-2'],
}

const cases: [kind: string, name: string, body: Record<string, unknown>, components: object[] | undefined][] = [
  ['text template', 'plain', {}, undefined],
  [
    'text template',
    'text',
    { headerParams: ['1042'], bodyParams: ['Asha', 7] },
    [
      { type: 'header', parameters: [textParameter('1042')] },
      { type: 'body', parameters: [textParameter('Asha'), textParameter('7')] },
    ],
  ],
  [
    'text template',
    'named',
    { bodyParams: ['Asha', 'Monday'] },
    [{ type: 'body', parameters: [textParameter('Asha', 'first_name'), textParameter('Monday', 'day')] }],
  ],
  [
    'text template',
    'place',
    { location: { latitude: 19.07, longitude: 72.87, name: 'Shop' } },
    [header('location', { latitude: 19.07, longitude: 72.87, name: 'Shop' })],
  ],
  [
    'media template',
    'media',
    { link, bodyParams: ['Asha'] },
    [header('image', { link }), { type: 'body', parameters: [textParameter('Asha')] }],
  ],
  ['media template', 'paper', { link, filename: 'bill.pdf' }, [header('document', { link, filename: 'bill.pdf' })]],
  [
    'CTA/buttons template',
    'cta',
    { bodyParams: ['Asha'], urlVariables: ['p1'], copyCodeParam: 'SAVE10', quickReplies: ['yes', 'no'] },
    [
      { type: 'body', parameters: [textParameter('Asha')] },
      quickReply(0, 'yes'),
      quickReply(1, 'no'),
      urlButton(3, 'p1'),
      coupon(4, 'SAVE10'),
    ],
  ],
  [
    'authentication template',
    'login',
    { bodyParams: ['123456'] },
    [{ type: 'body', parameters: [textParameter('123456')] }, urlButton('0', '123456')],
  ],
  [
    'authentication template',
    'login',
    { copyCodeParam: 'ABC123' },
    [{ type: 'body', parameters: [textParameter('ABC123')] }, urlButton('0', 'ABC123')],
  ],
  [
    'LTO template',
    'offer',
    { link, bodyParams: ['Asha'], ltoFields: { unixTimestamp: ends }, copyCodeParam: 'FAST', urlVariables: ['p1'] },
    [
      header('image', { link }),
      { type: 'body', parameters: [textParameter('Asha')] },
      {
        type: 'limited_time_offer',
        parameters: [{ type: 'limited_time_offer', limited_time_offer: { expiration_time_ms: ends } }],
      },
      coupon(0, 'FAST'),
      urlButton(1, 'p1'),
    ],
  ],
  [
    'carousel template',
    'cards',
    { ...carousel, quickReplies: JSON.stringify(['more-0', 'more-1']) },
    [
      { type: 'body', parameters: [textParameter('Asha')] },
      {
        type: 'carousel',
        cards: [0, 1].map(i => ({
          card_index: i,
          components: [
            header('image', { link: `https://example.com/${i + 1}.png` }),
            { type: 'body', parameters: [textParameter(i ? '20%' : '10%')] },
            quickReply(0, `more-${i}`),
            urlButton(1, `sku-${i + 1}`),
          ],
        })),
      },
    ],
  ],
  [
    'carousel template',
    'coupons',
    { ...carousel, bodyParams: undefined, urlVariables: undefined, copyCodeParam: 'TWICE' },
    [
      {
        type: 'carousel',
        cards: [0, 1].map(i => ({
          card_index: i,
          components: [
            header('image', { link: `https://example.com/${i + 1}.png` }),
            { type: 'body', parameters: [textParameter(i ? '20%' : '10%')] },
            coupon(0, 'TWICE'),
          ],
        })),
      },
    ],
  ],
]

describe('POST /messages: templates', () => {
  test.each(cases)('%s "%s" becomes exactly the payload of the platform', async (kind, name, body, components) => {
    const answer = await send({ ...body, templateName: name })
    expect(answer.status, answer.text).toBe(200)
    const expected = sentMessage(String(to))
    expect(answer.body).toEqual({
      status: 'success',
      message: expect.any(String),
      data: {
        ...expected,
        platformResponse: {
          ...expected.platformResponse,
          messages: [{ id: expect.stringMatching(/^wamid\./), message_status: 'accepted' }],
        },
      },
    })
    expect(await lastPayload(w, shop)).toEqual({
      type: 'template',
      template: { name, language: { code: 'en_US' }, ...(components && { components }) },
    })
    const [row] =
      await w.db`select kind, category, template_version from chat_message where business_id = ${shop.id} order by id desc limit 1`
    expect(row).toMatchObject({ kind, template_version: 1 })
  })

  test.each<[string, string, object, number, string]>([
    ['the media template', 'media', { bodyParams: ['x'] }, 400, 'link'],
    [
      'a text template with too few values',
      'text',
      { headerParams: ['1'], bodyParams: ['Asha'] },
      422,
      'bodyParams[1]',
    ],
    [
      'a text template with too many values',
      'text',
      { headerParams: ['1'], bodyParams: ['1', '2', '3'] },
      422,
      'bodyParams',
    ],
    ['a text template without its header value', 'text', { bodyParams: ['1', '2'] }, 422, 'headerParams[0]'],
    ['a text template with a link', 'plain', { link }, 422, 'link'],
    ['a value with a line break', 'text', { headerParams: ['1'], bodyParams: ['a\nb', '2'] }, 400, 'bodyParams[0]'],
    ['a value with a tab', 'text', { headerParams: ['1'], bodyParams: ['a', 'a\tb'] }, 400, 'bodyParams[1]'],
    ['a value with five spaces', 'text', { headerParams: ['1'], bodyParams: ['a     b', '2'] }, 400, 'bodyParams[0]'],
    ['a value with four spaces', 'text', { headerParams: ['1'], bodyParams: ['a    b', '2'] }, 200, ''],
    ['an empty value', 'text', { headerParams: ['1'], bodyParams: ['', '2'] }, 400, 'bodyParams[0]'],
    [
      'a body that gets too long',
      'text',
      { headerParams: ['1'], bodyParams: ['a'.repeat(1000), 'b'.repeat(100)] },
      422,
      'bodyParams',
    ],
    [
      'a header that gets too long',
      'text',
      { headerParams: ['1'.repeat(55)], bodyParams: ['1', '2'] },
      422,
      'headerParams',
    ],
    ['buttons without the changing URL', 'cta', { bodyParams: ['x'], copyCodeParam: 'A' }, 422, 'urlVariables[0]'],
    ['buttons without the code', 'cta', { bodyParams: ['x'], urlVariables: ['a'] }, 422, 'copyCodeParam'],
    [
      'more URL values than buttons',
      'cta',
      { bodyParams: ['x'], urlVariables: ['a', 'b'], copyCodeParam: 'A' },
      422,
      'urlVariables',
    ],
    ['a code of 20', 'cta', { bodyParams: ['x'], urlVariables: ['a'], copyCodeParam: 'A'.repeat(20) }, 200, ''],
    [
      'a code of 21',
      'cta',
      { bodyParams: ['x'], urlVariables: ['a'], copyCodeParam: 'A'.repeat(21) },
      400,
      'copyCodeParam',
    ],
    [
      'a code with a dash',
      'cta',
      { bodyParams: ['x'], urlVariables: ['a'], copyCodeParam: 'A-1' },
      400,
      'copyCodeParam',
    ],
    [
      'a payload of 256',
      'cta',
      { bodyParams: ['x'], urlVariables: ['a'], copyCodeParam: 'A', quickReplies: ['p'.repeat(256)] },
      200,
      '',
    ],
    [
      'a payload of 257',
      'cta',
      { bodyParams: ['x'], urlVariables: ['a'], copyCodeParam: 'A', quickReplies: ['p'.repeat(257)] },
      400,
      'quickReplies[0]',
    ],
    ['a login without a code', 'login', {}, 422, 'bodyParams[0]'],
    ['a login code of 15', 'login', { bodyParams: ['1'.repeat(15)] }, 200, ''],
    ['a login code of 16', 'login', { bodyParams: ['1'.repeat(16)] }, 400, 'bodyParams[0]'],
    ['a login code with an emoji', 'login', { bodyParams: ['12😀'] }, 400, 'bodyParams[0]'],
    [
      'an offer without its end',
      'offer',
      { link, bodyParams: ['x'], copyCodeParam: 'A', urlVariables: ['a'] },
      422,
      'ltoFields.unixTimestamp',
    ],
    [
      'an offer that ended',
      'offer',
      {
        link,
        bodyParams: ['x'],
        copyCodeParam: 'A',
        urlVariables: ['a'],
        ltoFields: { unixTimestamp: 1_600_000_000_000 },
      },
      422,
      'ltoFields.unixTimestamp',
    ],
    [
      'an offer in seconds',
      'offer',
      { link, bodyParams: ['x'], copyCodeParam: 'A', urlVariables: ['a'], ltoFields: { unixTimestamp: 1_900_000_000 } },
      400,
      'ltoFields.unixTimestamp',
    ],
    [
      'an offer without its picture',
      'offer',
      { bodyParams: ['x'], copyCodeParam: 'A', urlVariables: ['a'], ltoFields: { unixTimestamp: ends } },
      422,
      'link',
    ],
    ['a carousel without cards', 'cards', {}, 400, 'carouselBodies'],
    [
      'a carousel with one card',
      'cards',
      { ...carousel, carouselBodies: [{ bodyParams: ['1'] }] },
      400,
      'carouselBodies',
    ],
    [
      'a carousel with a card too many',
      'cards',
      { ...carousel, carouselBodies: [...carousel.carouselBodies, { bodyParams: ['1'] }] },
      422,
      'carouselBodies',
    ],
    [
      'a carousel with 11 cards',
      'cards',
      { ...carousel, carouselBodies: new Array(11).fill({ bodyParams: ['1'] }) },
      400,
      'carouselBodies',
    ],
    [
      'a carousel with a missing value',
      'cards',
      { ...carousel, carouselBodies: [{ bodyParams: ['1'] }, {}] },
      422,
      'carouselBodies[1].bodyParams[0]',
    ],
    [
      'a carousel with a card text too long',
      'cards',
      { ...carousel, carouselBodies: [{ bodyParams: ['1'] }, { bodyParams: ['1'.repeat(160)] }] },
      422,
      'carouselBodies[1].bodyParams',
    ],
    [
      'a carousel with a bad link',
      'cards',
      { ...carousel, carouselFileData: [{ fileUrl: 'x' }, { fileUrl: link }] },
      400,
      'carouselFileData[0].fileUrl',
    ],
    ['a carousel without a URL value', 'cards', { ...carousel, urlVariables: ['a'] }, 422, 'urlVariables[1]'],
    ['bodyParams that are no array', 'text', { bodyParams: 'Asha' }, 400, 'bodyParams'],
  ])('%s', async (_, templateName, body, status, field) => {
    const answer = await send({ templateName, ...body })
    if (status === 200) expect(answer.status, answer.text).toBe(200)
    else expectRefused(answer, status, field)
  })

  test('a missing name, an unknown template, an unknown language', async () => {
    expectRefused(await send({}), 400, 'templateName')
    expect((await send({ templateName: 'nobody' })).body).toMatchObject({ code: 'template_not_found' })
    expect((await send({ templateName: 'plain', languageCode: 'de' })).status).toBe(404)
    expect((await send({ templateName: 'plain', languageCode: 'en_US' })).status).toBe(200)
    expectRefused(await send({ templateName: 5 }), 400, 'templateName')
  })

  test('a value that is missing is told by its name where the template names its values', async () => {
    await approvedTemplate(w, shop, {
      name: 'by_name',
      parameter_format: 'NAMED',
      components: [bodyText('Hi {{first_name}}, order {{order_id}} is ready.')],
    })
    const answer = await shop.chat.post('/messages', {
      to: 14155550100,
      type: 'template',
      templateName: 'by_name',
      bodyParams: ['Ann'],
    })
    expectRefused(answer, 422, 'bodyParams[1]', 'order_id')
  })

  test('only an approved template is sent; the refusal names its state', async () => {
    const mine = await w.business()
    const make = (name: string) =>
      mine.chat.post('/templates', { name, language: 'en', category: 'UTILITY', components: [bodyText('Hi')] })
    await make('waiting')
    await make('please_reject')
    const tryIt = (templateName: string) => mine.chat.post('/messages', { to, type: 'template', templateName })
    expect((await tryIt('waiting')).body).toMatchObject({
      code: 'template_not_approved',
      message: expect.stringContaining('PENDING'),
    })
    await settle(w, mine)
    expect((await tryIt('waiting')).status).toBe(200)
    expect((await tryIt('please_reject')).body.message).toContain('REJECTED')
  })

  test('people who opted out get no marketing, but what they need', async () => {
    const mine = await w.business()
    await approvedTemplate(w, mine, { name: 'ad', category: 'MARKETING', components: [bodyText('Buy')] })
    await approvedTemplate(w, mine, { name: 'bill', category: 'UTILITY', components: [bodyText('Pay')] })
    await mine.chat.post('/contacts', { mobile: to, optin: false })
    const refused = await mine.chat.post('/messages', { to, type: 'template', templateName: 'ad' })
    expectRefused(refused, 422)
    expect(refused.body.code).toBe('contact_opted_out')
    expect((await mine.chat.post('/messages', { to, type: 'template', templateName: 'bill' })).status).toBe(200)
  })

  test('outside the window free messages are refused with the templates that would work', async () => {
    const mine = await w.business()
    await approvedTemplate(w, mine, { name: 'bill', category: 'UTILITY', components: [bodyText('Pay')] })
    await mine.chat.put('/settings/channel', { enforceWindow: true })
    const refused = await mine.chat.post('/messages', { to, type: 'text', text: 'x' })
    expectRefused(refused, 422, undefined, 'bill')
    expect(refused.body.code).toBe('window_closed')
    expect((await mine.chat.post('/messages', { to, type: 'template', templateName: 'bill' })).status).toBe(200)
  })
})

describe('/templates', () => {
  test('is created, read by id and name, listed and filtered', async () => {
    const mine = await w.business()
    const created = await mine.chat.post('/templates', {
      name: 'hello_world',
      language: 'en_US',
      category: 'UTILITY',
      components: [{ type: 'body', text: 'Hi {{1}}, hello.' }],
    })
    expect(created.status).toBe(200)
    expect(created.body.data).toEqual({
      _id: expect.stringMatching(/^[0-9a-f]{24}$/),
      id: expect.stringMatching(/^\d+$/),
      name: 'hello_world',
      language: 'en_US',
      category: 'UTILITY',
      status: 'PENDING',
      parameter_format: 'POSITIONAL',
      components: [{ type: 'BODY', text: 'Hi {{1}}, hello.' }],
      quality: 'UNKNOWN',
      rejected_reason: '',
      version: 1,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    await settle(w, mine)
    for (const key of ['hello_world', created.body.data._id])
      expect((await mine.chat.get(`/templates/${key}`)).body.data.status).toBe('APPROVED')
    expect((await mine.chat.get('/templates/other')).status).toBe(404)
    expect((await mine.chat.get('/templates?status=APPROVED&category=UTILITY&name=hello')).body.data.total).toBe(1)
    expect((await mine.chat.get('/templates?status=REJECTED')).body.data).toMatchObject({ templates: [], total: 0 })
    expect((await shop.chat.get(`/templates/${created.body.data._id}`)).status).toBe(404)
    expect((await mine.chat.post('/templates/sync')).body.data).toEqual({ synced: 1 })
    const events = await w.db`select type from event where business_id = ${mine.id}`
    expect(events.map(event => event.type)).toEqual(['template_status'])
  })

  test('a name and language can be used once', async () => {
    const template = { name: 'twice', language: 'en_US', category: 'UTILITY', components: [bodyText('Hi')] }
    expect((await shop.chat.post('/templates', template)).status).toBe(200)
    expect((await shop.chat.post('/templates', template)).status).toBe(409)
    expect((await shop.chat.post('/templates', { ...template, language: 'de' })).status).toBe(200)
  })

  const long = (count: number) => 'x'.repeat(count)
  const otp = ({ minutes = 5, apps = 1, package: name = 20, hash = 11 } = {}) => ({
    category: 'AUTHENTICATION',
    components: [
      { type: 'BODY', add_security_recommendation: true },
      { type: 'FOOTER', code_expiration_minutes: minutes },
      buttons({
        type: 'OTP',
        otp_type: 'ONE_TAP',
        supported_apps: new Array(apps).fill({ package_name: long(name), signature_hash: long(hash) }),
      }),
    ],
  })
  test.each<[string, object, number]>([
    ['a name of 512', { name: long(512) }, 200],
    ['a name of 513', { name: long(513) }, 400],
    ['a name with capitals', { name: 'Hello' }, 400],
    ['an unknown category', { category: 'GOSSIP' }, 400],
    ['no components', { components: [] }, 400],
    ['no body', { components: [image] }, 400],
    ['two bodies', { components: [bodyText('a'), bodyText('b')] }, 400],
    ['an unknown component', { components: [bodyText('a'), { type: 'SMELL' }] }, 400],
    ['a header of 60', { components: [{ type: 'HEADER', format: 'TEXT', text: long(60) }, bodyText('a')] }, 200],
    ['a header of 61', { components: [{ type: 'HEADER', format: 'TEXT', text: long(61) }, bodyText('a')] }, 400],
    [
      'a header with two variables',
      { components: [{ type: 'HEADER', format: 'TEXT', text: 'a {{1}} b {{2}} c' }, bodyText('a')] },
      400,
    ],
    ['a body of 1024', { components: [bodyText(long(1024))] }, 200],
    ['a body of 1025', { components: [bodyText(long(1025))] }, 400],
    ['a footer of 60', { components: [bodyText('a'), { type: 'FOOTER', text: long(60) }] }, 200],
    ['a footer of 61', { components: [bodyText('a'), { type: 'FOOTER', text: long(61) }] }, 400],
    ['a variable at the start', { components: [bodyText('{{1}} hello')] }, 400],
    ['a variable at the end', { components: [bodyText('hello {{1}}')] }, 400],
    ['variables side by side', { components: [bodyText('a {{1}} {{2}} b')] }, 400],
    ['variables with a gap', { components: [bodyText('a {{1}} b {{3}} c')] }, 400],
    [
      '10 buttons',
      { components: [bodyText('a'), buttons(...Array.from({ length: 10 }, (_, i) => reply(`b${i}`)))] },
      200,
    ],
    [
      '11 buttons',
      { components: [bodyText('a'), buttons(...Array.from({ length: 11 }, (_, i) => reply(`b${i}`)))] },
      400,
    ],
    ['2 URL buttons', { components: [bodyText('a'), buttons(url(), url())] }, 200],
    ['3 URL buttons', { components: [bodyText('a'), buttons(url(), url(), url())] }, 400],
    [
      '2 copy-code buttons',
      { components: [bodyText('a'), buttons({ type: 'COPY_CODE' }, { type: 'COPY_CODE' })] },
      400,
    ],
    ['a label of 25', { components: [bodyText('a'), buttons(reply(long(25)))] }, 200],
    ['a label of 26', { components: [bodyText('a'), buttons(reply(long(26)))] }, 400],
    ['mixed groups of buttons', { components: [bodyText('a'), buttons(reply('a'), url(), reply('b'))] }, 400],
    [
      'a phone button with 20',
      { components: [bodyText('a'), buttons({ type: 'PHONE_NUMBER', text: 'c', phone_number: long(20) })] },
      200,
    ],
    [
      'a phone button with 21',
      { components: [bodyText('a'), buttons({ type: 'PHONE_NUMBER', text: 'c', phone_number: long(21) })] },
      400,
    ],
    ['a variable inside a URL', { components: [bodyText('a'), buttons(url('{{1}}/x'))] }, 400],
    ['one card', { category: 'MARKETING', components: [bodyText('a'), { type: 'CAROUSEL', cards: [card()] }] }, 400],
    [
      '10 cards',
      { category: 'MARKETING', components: [bodyText('a'), { type: 'CAROUSEL', cards: new Array(10).fill(card()) }] },
      200,
    ],
    [
      '11 cards',
      { category: 'MARKETING', components: [bodyText('a'), { type: 'CAROUSEL', cards: new Array(11).fill(card()) }] },
      400,
    ],
    [
      'cards of different shapes',
      {
        category: 'MARKETING',
        components: [bodyText('a'), { type: 'CAROUSEL', cards: [card(), card(buttons(reply()))] }],
      },
      400,
    ],
    [
      '3 buttons on a card',
      {
        category: 'MARKETING',
        components: [
          bodyText('a'),
          {
            type: 'CAROUSEL',
            cards: [
              card(buttons(reply('a'), reply('b'), reply('c'))),
              card(buttons(reply('a'), reply('b'), reply('c'))),
            ],
          },
        ],
      },
      400,
    ],
    [
      'an offer text of 16',
      {
        category: 'MARKETING',
        components: [bodyText('a'), { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: long(16) } }],
      },
      200,
    ],
    [
      'an offer text of 17',
      {
        category: 'MARKETING',
        components: [bodyText('a'), { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: long(17) } }],
      },
      400,
    ],
    [
      'an offer body of 601',
      {
        category: 'MARKETING',
        components: [bodyText(long(601)), { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'a' } }],
      },
      400,
    ],
    [
      'an offer in a utility template',
      { components: [bodyText('a'), { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'a' } }] },
      400,
    ],
    ['an authentication template as the platform shows it', otp(), 200],
    ['a code valid for 90 minutes', otp({ minutes: 90 }), 200],
    ['a code valid for 91 minutes', otp({ minutes: 91 }), 400],
    ['a code valid for no time', otp({ minutes: 0 }), 400],
    ['5 apps', otp({ apps: 5 }), 200],
    ['6 apps', otp({ apps: 6 }), 400],
    ['a package name of 224', otp({ package: 224 }), 200],
    ['a package name of 225', otp({ package: 225 }), 400],
    ['a signature hash of 12', otp({ hash: 12 }), 400],
    ['a utility lifetime of 30 s', { message_send_ttl_seconds: 30 }, 200],
    ['a utility lifetime of 29 s', { message_send_ttl_seconds: 29 }, 400],
    ['a utility lifetime of 12 h', { message_send_ttl_seconds: 43_200 }, 200],
    ['a utility lifetime of 12 h and a second', { message_send_ttl_seconds: 43_201 }, 400],
    ['a utility lifetime of -1', { message_send_ttl_seconds: -1 }, 200],
    ['a marketing lifetime of -1', { category: 'MARKETING', message_send_ttl_seconds: -1 }, 400],
    ['a marketing lifetime of 12 h', { category: 'MARKETING', message_send_ttl_seconds: 43_200 }, 200],
    ['components that are text', { components: 'body' }, 400],
    ['buttons that are numbers', { components: [bodyText('a'), { type: 'BUTTONS', buttons: [5] }] }, 400],
  ])('%s answers as it should', async (_, template, status) => {
    const name = `t${Math.random().toString(36).slice(2)}`
    const answer = await shop.chat.post('/templates', {
      name,
      language: 'en_US',
      category: 'UTILITY',
      components: [bodyText('Hi')],
      ...template,
    })
    expect(answer.status, answer.text).toBe(status)
    if (status === 400) expect(answer.body.errors.length).toBeGreaterThan(0)
  })
})
