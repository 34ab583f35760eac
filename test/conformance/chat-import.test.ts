import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'
import { expectRefused } from './chat-shop.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
  await shop.chat.post('/settings/tags', { name: 'vip' })
  await shop.chat.post('/settings/tags', { name: 'new' })
  await shop.chat.post('/settings/attributes', { name: 'City' })
})

const send = (file: string | Buffer, query = '', type = 'text/csv') =>
  shop.chat.post(`/contacts/import${query}`, file, { 'content-type': type })
const contacts = async () => (await shop.chat.get('/contacts?order=1&limit=100')).body.data.contacts

describe('POST /contacts/import', () => {
  test('every column, quotes, several names in a cell, a byte order mark; what is unknown is told', async () => {
    const file =
      '\ufeffMobile;Name;Tags;Lists;Opt-in;attributes.city;Shoe size\r\n' +
      '+91 98765 43210;"Rao; Asha";vip|new;Customers;yes;"São ""Paulo""";38\r\n' +
      '14155550123;Ben;;;no;;\r\n'
    const answer = await send(file)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: 'Contacts imported',
      data: { rows: 2, created: 2, updated: 0, skipped: 0, refused: 0, ignoredColumns: ['Shoe size'], refusals: [] },
    })
    expect(await contacts()).toMatchObject([
      {
        mobile: '919876543210',
        name: 'Rao; Asha',
        tags: ['vip', 'new'],
        list: ['Customers'],
        optin: true,
        source: 'csv',
        countryCode: '91',
        attributes: [{ name: 'City', value: 'São "Paulo"' }],
      },
      { mobile: '14155550123', name: 'Ben', tags: [], list: [], optin: false, attributes: [] },
    ])
  })

  test('refused rows are named by their line, the others are saved', async () => {
    const file =
      'mobile,name,tags,optin\n12,short\n14155550101,"two\nlines",vip\n14155550102,x,unknown\n14155550103,x,,perhaps\n'
    const { data } = (await send(file)).body
    expect(data).toMatchObject({ rows: 4, created: 1, refused: 3 })
    expect(data.refusals).toEqual([
      { line: 2, mobile: '12', error: expect.stringContaining('7 to 15 digits') },
      { line: 5, mobile: '14155550102', error: expect.stringContaining('"unknown"') },
      { line: 6, mobile: '14155550103', error: expect.stringContaining('optin') },
    ])
    expect((await contacts()).map((contact: { name: string }) => contact.name)).toEqual(['two\nlines'])
  })

  test('known numbers are skipped, overwritten where something is given, or refused', async () => {
    await shop.chat.post('/contacts', { mobile: 14155550101, name: 'Ann', tags: ['vip'] })
    const file = 'mobile,name,tags\n14155550101,,new\n14155550102,Bob,\n14155550102,Bob again,\n'
    expect((await send(file)).body.data).toMatchObject({ created: 1, skipped: 2 })
    expect((await send(file, '?onDuplicate=error')).body.data).toMatchObject({ created: 0, refused: 3 })
    expect((await send(file, '?onDuplicate=overwrite&list=A,B&tags=vip')).body.data).toMatchObject({ updated: 2 })
    expect(await contacts()).toMatchObject([
      { name: 'Ann', tags: ['new', 'vip'], list: ['A', 'B'] },
      { name: 'Bob again', tags: ['vip'], list: ['A', 'B'] },
    ])
  })

  test('many rows: lines are counted over chunks, totals and events are kept, at most 1,000 refusals are named', async () => {
    const rows = Array.from({ length: 6_000 }, (_, i) =>
      i % 3 === 0 ? `bad${i},x` : `1415${1_000_000 + i},P${i} ${'x'.repeat(40)}`,
    )
    const { data } = (await send(`mobile,name\n${rows.join('\n')}`)).body
    expect(data).toMatchObject({ rows: 6_000, created: 4_000, refused: 2_000 })
    expect(data.refusals).toHaveLength(1_000)
    expect(data.refusals.at(-1)).toMatchObject({ line: 2 + 999 * 3, mobile: `bad${999 * 3}` })
    expect((await shop.chat.get('/contacts?source=csv')).body.data.total).toBe(4_000)
    const told =
      await w.db`select count(*)::int as count from event where business_id = ${shop.id} and type = 'contact_create'`
    expect(told[0]).toEqual({ count: 4_000 })
    const chat = w.services.find(service => service.name === 'chat')!
    expect(await chat.audit(w.platform, shop.id)).toEqual([])
  })

  test('of rows with one number the later counts, wherever in the file they stand', async () => {
    const rows = Array.from({ length: 3_500 }, (_, i) => `${14155550000 + (i % 700)},Name ${i}`)
    const { data } = (await send(`mobile,name\n${rows.join('\n')}\n`, '?onDuplicate=overwrite')).body
    expect(data).toMatchObject({ rows: 3_500, created: 700, refused: 0 })
    const [first, last] = [
      await shop.chat.get('/contacts?mobile=4155550000'),
      await shop.chat.get('/contacts?mobile=4155550699'),
    ]
    expect(first.body.data.contacts).toMatchObject([{ name: 'Name 2800' }])
    expect(last.body.data.contacts).toMatchObject([{ name: 'Name 3499' }])
  })

  test('what is no such file is refused', async () => {
    expectRefused(await send('name,city\nx,y\n'), 400, 'body')
    expect((await send('')).status).toBe(400)
    expect((await send('{"mobile":1}', '', 'application/json')).status).toBe(415)
    expect((await send(`mobile\n"${'x'.repeat(2_000_000)}`)).body.code).toBe('csv_invalid')
    expect((await send('mobile\n', '?onDuplicate=maybe')).status).toBe(400)
    expect((await send('mobile\n')).body.data).toMatchObject({ rows: 0, created: 0 })
    expect((await send(Buffer.from([...Buffer.from('mobile,name\n14155550109,'), 0xff, 0x00, 0x0a]))).status).toBe(200)
  })
})
