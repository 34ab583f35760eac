import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../../../test/world.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

describe('export', () => {
  test('gives any filter as CSV that an import reads back', async () => {
    await shop.email.post('/lists', { name: 'News, "hot"' })
    const people = [
      {
        email: 'a@b.example',
        firstName: '=cmd()',
        lastName: 'O"Neil, jr',
        city: 'Two\nlines',
        tags: ['x', 'y'],
        lists: ['News, "hot"'],
        customFields: { company: '-1' },
        leadScore: -5,
      },
      { email: 'c@b.example', status: 'bounced', dateOfBirth: '1999-12-31' },
    ]
    for (const one of people) await shop.email.post('/subscribers', one)
    const answer = await shop.email.get('/subscribers/export')
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toContain('text/csv')
    expect(answer.text.split('\n')[0]).toBe(
      'email,firstName,lastName,mobile,country,city,dateOfBirth,leadScore,status,tags,lists,source,customFields.company,customFields.position,createdAt,updatedAt',
    )
    expect(answer.text).toContain(
      `a@b.example,"'=cmd()","O""Neil, jr",,Not Specified,"Two\nlines",,-5,subscribed,x;y,"News, ""hot""",api,"'-1",,`,
    )
    const filtered = await shop.email.get('/subscribers/export?status=bounced')
    expect(filtered.text.trim().split('\n')).toHaveLength(2)
    const before = (await shop.email.get('/subscribers/a@b.example')).body.data
    const other = await w.business()
    await other.email.post('/lists', { name: 'News, "hot"' })
    const again = await other.email.post('/subscribers/import', answer.text, { 'content-type': 'text/csv' })
    expect(again.status).toBe(201)
    await w.drain()
    const after = (await other.email.get('/subscribers/a@b.example')).body.data
    for (const field of ['firstName', 'lastName', 'city', 'tags', 'lists', 'customFields', 'leadScore', 'status'])
      expect(after[field]).toEqual(before[field])
  })

  test('names with the marks that part them come back whole', async () => {
    const names = ['a;b', 'c|d', '"e"', '"f";g', 'h "i"', 'plain', ';', '=j;k', "'l;m", '""', '"']
    const other = await w.business()
    for (const at of [shop, other]) for (const name of names) await at.email.post('/lists', { name })
    await shop.email.post('/subscribers', { email: 'all@b.example', tags: names, lists: names })
    for (const [i, name] of names.entries())
      await shop.email.post('/subscribers', { email: `one${i}@b.example`, tags: [name], lists: [name] })
    const { text } = await shop.email.get('/subscribers/export')
    await other.email.post('/subscribers/import', text, { 'content-type': 'text/csv' })
    await w.drain()
    for (const { email, tags, lists } of (await shop.email.get('/subscribers?limit=100')).body.data.subscribers)
      expect((await other.email.get(`/subscribers/${email}`)).body.data).toMatchObject({ tags, lists })
  })
})
