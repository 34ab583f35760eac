import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'
import { importFile } from '../../cli/import.ts'
import { cutAtRecords, readCsv } from '../../platform/csv.ts'
import { auditEmail } from '../audit.ts'
import { runImport } from './import.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

const upload = (csv: string, query = '', type = 'text/csv') =>
  shop.email.post(`/subscribers/import${query}`, csv, { 'content-type': type })
const importAll = async (csv: string, query = '') => {
  const answer = await upload(csv, query)
  expect(answer.status, answer.text).toBe(201)
  await w.drain()
  return (await shop.email.get(`/subscribers/imports/${answer.body.data.import.id}`)).body.data.import
}
const subscriber = async (email: string) =>
  (await shop.email.get(`/subscribers/${encodeURIComponent(email)}`)).body.data

describe('CSV', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'é', '"', ',', ';', '\n', '\r\n', ' ', "'", '=') })

  test('what is written is read back, wherever the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        async (rows, size) => {
          const text = rows.map(row => row.map(value => `"${value.replaceAll('"', '""')}"`).join(',')).join('\n')
          const bytes = Buffer.from(text)
          const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
            bytes.subarray(i * size, (i + 1) * size),
          )
          const read = []
          for await (const chunk of cutAtRecords(Readable.from(parts), {
            chunkBytes: 10,
            chunkRecords: 3,
            maxRecordBytes: 1_000,
          }))
            for (const record of readCsv(chunk.toString(), ',', 1)) read.push(record.cells)
          expect(read).toEqual(rows)
        },
      ),
    )
  })
})

describe('import', () => {
  test('creates and updates, with lists, tags and custom fields, and reports refused rows by line and reason', async () => {
    await shop.email.post('/lists', { name: 'News' })
    await shop.email.post('/lists', { name: 'Staff' })
    await shop.email.post('/custom-fields', { name: 'Age', key: 'age', type: 'number' })
    await shop.email.post('/subscribers', { email: 'Old@b.example', firstName: 'Old', tags: ['kept'] })
    const csv = [
      '\uFEFFEmail;First name;last_name;leadScore;status;tags;lists;Age;Shoe',
      'old@b.example;;Name;7;;vip|new;;40;x',
      'new@b.example;"Ann; ""A""\nB";Lee;;unsubscribed;;Staff;;',
      'nonsense;;;;;;;;',
      ';Nobody;;;;;;;',
      'a@b.example;;;1.5;;;;;',
      'b@b.example;;;;gone;;;;',
      'c@b.example;;;;;;Nowhere;;',
      'd@b.example;;;;;;;old;',
      '',
      "'+plus@b.example;'=1+1;;;;;;;",
    ].join('\r\n')
    const done = await importAll(csv, '?lists=news&tags=imported')
    expect(done).toMatchObject({
      status: 'done',
      progress: 1,
      rows: 9,
      created: 2,
      updated: 1,
      refused: 6,
      ignoredColumns: ['Shoe'],
      error: null,
    })
    expect(await subscriber('old@b.example')).toMatchObject({
      email: 'Old@b.example',
      firstName: 'Old',
      lastName: 'Name',
      leadScore: 7,
      tags: ['kept', 'imported', 'vip', 'new'],
      lists: ['News'],
      customFields: { age: 40 },
      source: 'api',
    })
    expect(await subscriber('new@b.example')).toMatchObject({
      firstName: 'Ann; "A"\nB',
      status: 'unsubscribed',
      isSuppressed: true,
      lists: ['News', 'Staff'],
      source: 'import',
    })
    expect(await subscriber('+plus@b.example')).toMatchObject({ firstName: '=1+1' })
    const { refusals } = (await shop.email.get(`/subscribers/imports/${done.id}/refusals`)).body.data
    expect(refusals.map((one: { line: number; reason: string }) => [one.line, one.reason])).toEqual([
      [5, 'email is not a valid address'],
      [6, 'email is missing'],
      [7, 'leadScore is not an integer'],
      [8, 'status is not one of subscribed, unsubscribed, bounced, complaint'],
      [9, 'there is no list named "Nowhere"'],
      [10, 'customFields.age must be a number.'],
    ])
    expect(await auditEmail(w.platform, shop.id)).toEqual([])
  })

  test('never makes a complaint milder, of who is known and of who was deleted', async () => {
    for (const email of ['known@b.example', 'deleted@b.example'])
      await shop.email.post('/subscribers', { email, status: 'complaint' })
    await shop.email.delete('/subscribers', { email: 'deleted@b.example' })
    await importAll('email,status\nknown@b.example,unsubscribed\ndeleted@b.example,bounced\n')
    for (const email of ['known@b.example', 'deleted@b.example'])
      expect(await subscriber(email)).toMatchObject({
        status: 'complaint',
        isSuppressed: true,
        suppressionDetail: { type: 'complaint' },
      })
    await importAll('email,status\nnew@b.example,unsubscribed\n')
    await importAll('email,status\nnew@b.example,complaint\n')
    expect(await subscriber('new@b.example')).toMatchObject({ suppressionDetail: { type: 'complaint' } })
    expect((await subscriber('new@b.example')).status).toBe('complaint')
  })

  test('a file whose lines end with a carriage return alone is refused, not read as one line', async () => {
    const answer = await upload('email,firstName\ra@b.example,Ann\r')
    expect([answer.status, answer.body.code]).toEqual([400, 'csv_invalid'])
  })

  test('never lifts a suppression, and takes the last of rows with one email', async () => {
    await shop.email.post('/subscribers', { email: 'gone@b.example', status: 'complaint' })
    await shop.email.post('/suppressions', { email: 'stranger@b.example' })
    await importAll(
      'email,status,firstName\ngone@b.example,subscribed,A\nx@b.example,,One\nX@b.example,,Two\nstranger@b.example,subscribed,S\n',
    )
    expect(await subscriber('gone@b.example')).toMatchObject({
      status: 'complaint',
      isSuppressed: true,
      firstName: 'A',
    })
    expect(await subscriber('x@b.example')).toMatchObject({ firstName: 'Two' })
    expect(await subscriber('stranger@b.example')).toMatchObject({ isSuppressed: true })
  })

  test('who is named again with nothing new stays as they are, also in their time of update', async () => {
    const csv =
      'email,firstName,status,tags,dateOfBirth,company\nA@b.example,Ann,,x;y,1990-01-31,Acme\nb@b.example,Bob,unsubscribed,,,\n'
    await importAll(csv)
    const people = async () => [await subscriber('a@b.example'), await subscriber('b@b.example')]
    const before = await people()
    expect(await importAll(csv)).toMatchObject({ created: 0, updated: 2 })
    // An import lifts no suppression, so this row changes nothing either.
    await importAll('email,status\nb@b.example,subscribed\na@b.example,\n')
    const times = (all: { updatedAt: string }[]) => all.map(one => one.updatedAt)
    expect(times(await people())).toEqual(times(before))
    const changes = [
      ['firstName', 'Anna', { firstName: 'Anna' }],
      ['lastName', 'Lee', { lastName: 'Lee' }],
      ['mobile', '+1', { mobile: '+1' }],
      ['country', 'Peru', { country: 'Peru' }],
      ['city', 'Lima', { city: 'Lima' }],
      ['dateOfBirth', '1991-01-31', { dateOfBirth: expect.stringContaining('1991-01-31') }],
      ['leadScore', '5', { leadScore: 5 }],
      ['source', 'shop', { source: 'shop' }],
      ['status', 'bounced', { status: 'bounced' }],
      ['tags', 'y;z', { tags: ['x', 'y', 'z'] }],
      ['company', 'Other', { customFields: { company: 'Other' } }],
    ] as const
    for (const [column, cell, expected] of changes) {
      const { updatedAt } = await subscriber('a@b.example')
      await importAll(`email,${column}\na@b.example,${cell}\n`)
      const after = await subscriber('a@b.example')
      expect(after).toMatchObject(expected)
      expect(after.updatedAt > updatedAt, column).toBe(true)
    }
    expect(await auditEmail(w.platform, shop.id)).toEqual([])
  })

  test('refuses an empty file, one without an email column, endless records, JSON and unknown lists', async () => {
    const codes = []
    for (const [csv, query, type] of [
      ['', '', 'text/csv'],
      ['name\nAnn', '', 'text/csv'],
      [`email\n"${'x'.repeat(2_000_000)}`, '', 'text/csv'],
      ['{}', '', 'application/json'],
      ['email\na@b.example', '?lists=Nowhere', 'text/csv'],
    ] as const) {
      const answer = await upload(csv, query, type)
      codes.push([answer.status, answer.body.code])
    }
    expect(codes).toEqual([
      [400, 'csv_empty'],
      [400, 'csv_invalid'],
      [400, 'csv_invalid'],
      [415, 'unsupported_media_type'],
      [422, 'list_not_found'],
    ])
  })

  const many = (count: number) =>
    `email,firstName,tags\n${Array.from({ length: count }, (_, i) => `m${i}@b.example,${'N'.repeat(80)}${i},t${i % 3}\n`).join('')}`

  test('killed after any chunk it goes on where it was, and people deleted meanwhile stay deleted', async () => {
    await shop.email.post('/lists', { name: 'News' })
    const id = (await upload(many(12_000), '?lists=News')).body.data.import.id
    let turns = 0
    // A turn of no length ends after one chunk, as a kill between chunks would.
    while (await runImport(w.platform, shop, id, { turnMs: 0 })) {
      if (turns++ === 0) await shop.email.delete('/subscribers', { emails: ['m0@b.example', 'm1@b.example'] })
    }
    expect(turns).toBeGreaterThan(1)
    await w.drain()
    expect((await shop.email.get(`/subscribers/imports/${id}`)).body.data.import).toMatchObject({
      status: 'done',
      rows: 12_000,
      created: 12_000,
      updated: 0,
      refused: 0,
    })
    const { pagination } = (await shop.email.get('/subscribers?lists=News&tags=t0,t1,t2&leadScoreMax=0')).body.data
    expect(pagination.totalItems).toBe(11_998)
    const numbers = Array.from({ length: 11_998 }, (_, i) => i + 2)
    for (const [search, matches] of [
      ['b', () => true],
      ['B.EX', () => true],
      ['b.example', () => true],
      ['xamp', () => true],
      ['m1', n => String(n).startsWith('1')],
      ['99', n => String(n).includes('99') || String(n).endsWith('99')],
      ['m119', n => String(n).startsWith('119')],
      ['9@b', n => n % 10 === 9],
      ['9@b.e', n => n % 10 === 9],
      ['nnnn', () => true],
      ['nnnnx', () => false],
    ] as [string, (n: number) => boolean][])
      for (const tag of [undefined, 2]) {
        const query = `search=${search}${tag === undefined ? '' : `&tags=t${tag}&leadScoreMax=0`}`
        const found = (await shop.email.get(`/subscribers?${query}`)).body.data
        const expected = numbers.filter(n => matches(n) && (tag === undefined || n % 3 === tag))
        expect([query, found.pagination.totalItems]).toEqual([query, expected.length])
        expect(found.subscribers.length).toBe(Math.min(10, expected.length))
      }
    expect((await shop.email.delete('/tags', { name: 't1' })).body.data).toMatchObject({ removedFrom: 3_999 })
    expect((await shop.email.get('/subscribers?tags=t0,t1,t2')).body.data.pagination.totalItems).toBe(7_999)
    expect(await auditEmail(w.platform, shop.id)).toEqual([])
  })

  test('two workers on one import, and two imports of the same people, make nobody twice', async () => {
    // Statistics that know of other people only: the planner must not read the whole business for each one who is there already.
    await w.db`analyze email_subscriber`
    const [a, b] = await Promise.all([upload(many(6_000)), upload(many(6_000))])
    const runs = [a, a, b, b].map(answer => runImport(w.platform, shop, answer.body.data.import.id))
    await Promise.all(runs)
    const records = await Promise.all(
      [a, b].map(
        async answer => (await shop.email.get(`/subscribers/imports/${answer.body.data.import.id}`)).body.data.import,
      ),
    )
    expect(records.map(record => record.status)).toEqual(['done', 'done'])
    expect(records.reduce((sum, record) => sum + record.created, 0)).toBe(6_000)
    expect((await shop.email.get('/subscribers')).body.data.pagination.totalItems).toBe(6_000)
    expect(await auditEmail(w.platform, shop.id)).toEqual([])
  })

  test('can be cancelled, once', async () => {
    const id = (await upload(many(10))).body.data.import.id
    expect((await shop.email.post(`/subscribers/imports/${id}/cancel`)).body.data.import.status).toBe('cancelled')
    await w.drain()
    expect((await shop.email.get('/subscribers')).body.data.pagination.totalItems).toBe(0)
    expect((await shop.email.post(`/subscribers/imports/${id}/cancel`)).body.code).toBe('import_finished')
    expect((await (await w.business()).email.get(`/subscribers/imports/${id}`)).status).toBe(404)
  })

  test('from the command line', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'pennypost-import-')), 'people.csv')
    await writeFile(path, 'email\ncli@b.example\nwrong\n')
    const lines: string[] = []
    await importFile(w.platform, [path, '--business', shop.id, '--tags', 'cli'], line => lines.push(line))
    expect(lines).toEqual([
      'done: 100%, 2 rows, 1 created, 0 updated, 1 refused',
      '  line 3 (wrong): email is not a valid address',
    ])
    expect((await subscriber('cli@b.example')).tags).toEqual(['cli'])
    await expect(importFile(w.platform, ['nowhere.csv', '--business', shop.id], () => undefined)).rejects.toThrow(
      'no file',
    )
  })
})
