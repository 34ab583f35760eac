import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../../test/world.ts'
import { groupsOf, pageInOrder, pageOfGroups } from './store-list.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const tags = ['a', 'b', 'ü|"x']
const lists = ['One', 'Two']
const details = fc.record({
  optin: fc.boolean(),
  incomingBlocked: fc.boolean(),
  tags: fc.subarray(tags),
  list: fc.subarray(lists),
  attributes: fc.subarray(['city', 'ü=|"x']).map(names => names.map(name => ({ name, value: 'Köln=1' }))),
})
const change = fc.record({ number: fc.integer({ min: 0, max: 5 }), details })

interface Known {
  optin: boolean
  incomingBlocked: boolean
  tags: string[]
  list: string[]
  attributes: { name: string; value: string }[]
}

test('whatever was done to contacts, the total of every filter is their count', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), async changes => {
      const shop = await w.business()
      for (const name of tags) await shop.chat.post('/settings/tags', { name })
      for (const name of ['city', 'ü=|"x']) await shop.chat.post('/settings/attributes', { name })
      const known = new Map<number, Known>()
      for (const { number, details: given } of changes) {
        const body = { mobile: 14150000000 + number, ...given }
        const answer = await shop.chat.post('/contacts?onDuplicate=overwrite', body)
        expect(answer.status, answer.text).toBe(200)
        const before = known.get(number)?.attributes ?? []
        const kept = before.filter(one => !given.attributes.some(({ name }) => name === one.name))
        known.set(number, { ...given, attributes: [...kept, ...given.attributes] })
      }
      const check = async (query: string, passes: (contact: Known, number: number) => boolean) => {
        const { data } = (await shop.chat.get(`/contacts?${query}`)).body
        const expected = [...known].filter(([number, contact]) => passes(contact, number)).length
        expect({ query, total: data.total, shown: data.contacts.length }).toEqual({
          query,
          total: expected,
          shown: expected,
        })
      }
      const has = (wanted: string[]) => (contact: Known) => contact.tags.some(tag => wanted.includes(tag))
      await check('tags=a,b', has(['a', 'b']))
      await check('tags=a&optin=true', contact => has(['a'])(contact) && contact.optin)
      await check('list=One&optin=false', contact => contact.list.includes('One') && !contact.optin)
      await check('list=Two&incomingBlocked=true', contact => contact.list.includes('Two') && contact.incomingBlocked)
      await check(`tags[0]=${encodeURIComponent(tags[2]!)}&source=api&optin=true`, contact =>
        Boolean(has([tags[2]!])(contact) && contact.optin),
      )
      await check('source=csv&optin=true', () => false)
      await check('mobile=0', () => true)
      await check('mobile=+1 415', () => true)
      await check('mobile=0003', (_, number) => number === 3)
      await check('mobile=1500&tags=a', has(['a']))
      const carries = (wanted: string) => (contact: Known) => contact.attributes.some(({ name }) => name === wanted)
      const attribute = (name: string, value?: string) =>
        `attributes[0][name]=${encodeURIComponent(name)}${value === undefined ? '' : `&attributes[0][value]=${encodeURIComponent(value)}`}`
      await check(attribute('city'), carries('city'))
      await check(attribute('ü=|"x', 'Köln=1'), carries('ü=|"x'))
      await check(attribute('city', 'Köln'), () => false)
      await check(`${attribute('city')}&tags=b&list=one`, contact =>
        Boolean(carries('city')(contact) && has(['b'])(contact) && contact.list.includes('One')),
      )
      for (const newestFirst of [true, false]) {
        const window = { newestFirst, offset: 1, limit: 3 }
        const filter = { attributes: [], tags: ['a', 'b'], optin: true }
        const groups = await groupsOf(w.db, shop.id, filter, 100)
        const [byGroups, inOrder] = [
          await pageOfGroups(w.db, shop.id, groups, window),
          await pageInOrder(w.db, shop.id, filter, window),
        ]
        expect(byGroups).toEqual(inOrder)
      }
      const chat = w.services.find(service => service.name === 'chat')!
      expect(await chat.audit(w.platform, shop.id)).toEqual([])
    }),
    { numRuns: 12 },
  )
})
