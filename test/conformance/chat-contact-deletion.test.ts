import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { auditChat } from '../../src/chat/audit.ts'
import { stepBroadcasts } from '../../src/chat/broadcasts/loops.ts'
import { type TestBusiness, type World, world } from '../world.ts'
import { approvedTemplate, countMessages, expectRefused, settle } from './chat-shop.ts'

let w: World
let shop: TestBusiness
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())
beforeEach(async () => {
  shop = await w.business()
})

const mobile = '14155550100'
const add = async (more: object = {}) =>
  (await shop.chat.post('/contacts', { mobile, name: 'Ann', list: ['All'], ...more })).body.data.createdContacts[0]
const write = async (text: string) => {
  await shop.chat.post('/sandbox/messages', { from: mobile, message: { type: 'text', text: { body: text } } })
  await settle(w, shop)
}
const say = (to = mobile) => shop.chat.post('/messages', { type: 'text', to, text: 'Hello' })
/** Until as many statements of this database wait for a lock. */
const waiting = (count: number) =>
  expect
    .poll(() => w.db`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
    .toHaveLength(count)

describe('DELETE /contacts/{id}', () => {
  test('takes everything with it that is kept about the person', async () => {
    const contact = await add()
    await write('Good morning')
    expect((await say()).status).toBe(200)
    await write('STOP')
    await settle(w, shop)
    const deleted = await shop.chat.delete(`/contacts/${contact._id}`)
    expect(deleted.status, deleted.text).toBe(200)
    expect(deleted.body.data).toMatchObject({ _id: contact._id, name: 'Ann', mobile, list: ['All'] })
    for (const path of [`/contacts/${contact._id}`, `/conversations/${contact._id}/messages`])
      expectRefused(await shop.chat.get(path), 404)
    expectRefused(await shop.chat.delete(`/contacts/${contact._id}`), 404)
    expect((await shop.chat.get('/contacts/')).body.data.total).toBe(0)
    expect((await shop.chat.get('/conversations')).body.data.total).toBe(0)
    const kept = await w.db<{ count: number }[]>`
      select (select count(*) from chat_message where business_id = ${shop.id})
        + (select count(*) from chat_consent where business_id = ${shop.id})
        + (select count(*) from chat_identity where business_id = ${shop.id}) as count`
    expect(Number(kept[0]!.count)).toBe(0)
    expect(await auditChat(w.platform, shop.id)).toEqual([])
    const events = (await shop.account.get('/events?types=contact_delete')).body.data.events
    expect(events.map((event: { data: object }) => event.data)).toEqual([deleted.body.data])
  })

  test('who writes again is a new contact', async () => {
    const contact = await add()
    await shop.chat.delete(`/contacts/${contact._id}`)
    await write('Me again')
    const [again] = (await shop.chat.get('/contacts/')).body.data.contacts
    expect(again).toMatchObject({ mobile, source: 'wa' })
    expect(again._id).not.toBe(contact._id)
    expect(await auditChat(w.platform, shop.id)).toEqual([])
  })

  test('broadcasts keep their counts; what was not sent yet is not sent any more', async () => {
    await approvedTemplate(w, shop, { name: 'ad', components: [{ type: 'BODY', text: 'Hi there' }] })
    const people = Array.from({ length: 300 }, (_, i) => ({ mobile: 14150000000 + i, list: ['All'] }))
    await shop.chat.post('/contacts', people)
    const { _id } = (await shop.chat.post('/broadcasts', { name: 'B', templateName: 'ad', lists: ['All'] })).body.data
    const report = async () => (await shop.chat.get(`/broadcasts/${_id}`)).body.data.report
    await stepBroadcasts(w.platform)
    await settle(w, shop)
    await shop.chat.post(`/broadcasts/${_id}/pause`)
    expect(await report()).toMatchObject({ audience: 300, read: 200, queued: 100 })
    const rows = await w.db<{ id: string; status: string }[]>`
      select distinct on (status) conversation_id as id, status from chat_message where business_id = ${shop.id}`
    expect(rows.map(row => row.status).sort()).toEqual(['queued', 'read'])
    for (const { id } of rows) expect((await shop.chat.delete(`/contacts/${id}`)).status).toBe(200)
    expect(await report()).toMatchObject({ audience: 300, read: 200, queued: 99, cancelled: 1 })
    await shop.chat.post(`/broadcasts/${_id}/resume`)
    while ((await stepBroadcasts(w.platform)) > 0);
    await settle(w, shop)
    expect(await report()).toMatchObject({ audience: 300, read: 299, queued: 0, cancelled: 1 })
    expect(await countMessages(w, shop)).toBe(298)
    expect(await auditChat(w.platform, shop.id)).toEqual([])
  })

  test('not while a message is on its way', async () => {
    const contact = await add()
    await write('Hello')
    await say()
    await w.db`
      update chat_message set status = 'sending', lease_until = now() + interval '20 seconds'
      where business_id = ${shop.id} and direction = 'out'`
    const refused = await shop.chat.delete(`/contacts/${contact._id}`)
    expectRefused(refused, 409)
    expect(refused.body.code).toBe('contact_busy')
    await w.db`update chat_message set lease_until = now() where business_id = ${shop.id} and direction = 'out'`
    expect((await shop.chat.delete(`/contacts/${contact._id}`)).status).toBe(200)
  })

  test('while messages come and go at the same moment: each is refused or done, and all counts are right', async () => {
    for (let round = 0; round < 15; round++) {
      const [contact] = (await shop.chat.get('/contacts/')).body.data.contacts
      const { _id } = contact ?? (await add())
      const answers = await Promise.all([
        say(),
        shop.chat.post(`/conversations/${_id}/messages`, { type: 'text', text: 'Reply' }),
        shop.chat.delete(`/contacts/${_id}`),
        shop.chat.put(`/contacts/${_id}`, { name: `N${round}` }),
        shop.chat.post('/contacts?onDuplicate=overwrite', [{ mobile, name: 'Over' }]),
        say('14155550199'),
        shop.chat.post('/messages', { type: 'text', to: mobile, text: 'x', contact: { list: [`L${round % 3}`] } }),
      ])
      for (const answer of answers) expect([200, 404, 409, 422], answer.text).toContain(answer.status)
      await write('Hello')
    }
    expect(await auditChat(w.platform, shop.id)).toEqual([])
  })

  test('a number that became another contact while an overwrite waited: that one is locked too, and counts stay right', async () => {
    const old = await add()
    const next = (await shop.chat.post('/contacts', { mobile: '14155550111', list: ['Next'] })).body.data
      .createdContacts[0]
    let overwrite: ReturnType<typeof say> | undefined
    let change: ReturnType<typeof say> | undefined
    await w.db.begin(async tx => {
      await tx`update chat_contact set mobile = '14155550122' where business_id = ${shop.id} and id = ${old._id}`
      await tx`update chat_contact set mobile = ${mobile} where business_id = ${shop.id} and id = ${next._id}`
      // Waits for the contact that has the next number.
      change = shop.chat.put(`/contacts/${next._id}`, { list: ['Moved'], optin: false })
      await waiting(1)
      overwrite = shop.chat.post('/contacts?onDuplicate=overwrite', { mobile, name: 'Over', list: ['Over'] })
      await waiting(2)
    })
    for (const answer of [await change!, await overwrite!]) expect(answer.status, answer.text).toBe(200)
    expect((await shop.chat.get(`/contacts/${next._id}`)).body.data).toMatchObject({ name: 'Over', optin: false })
    expect((await shop.chat.get(`/contacts/${old._id}`)).body.data).toMatchObject({ name: 'Ann', list: ['All'] })
    expect(await auditChat(w.platform, shop.id)).toEqual([])
  })

  test('two numbers of one person in one overwrite change one contact twice', async () => {
    const contact = await add()
    await shop.chat.post('/sandbox/messages', {
      from: mobile,
      message: { type: 'system', system: { type: 'user_changed_number', wa_id: '14155550133' } },
    })
    await settle(w, shop)
    await shop.chat.post('/contacts?onDuplicate=overwrite', [
      { mobile, name: 'One', list: ['A'] },
      { mobile: '14155550133', optin: false },
    ])
    expect((await shop.chat.get(`/contacts/${contact._id}`)).body.data).toMatchObject({
      mobile: '14155550133',
      name: 'One',
      list: ['A'],
      optin: false,
    })
    expect(await auditChat(w.platform, shop.id)).toEqual([])
  })

  test('a message whose contact goes while it is being written goes to a new one; a reply has nobody any more', async () => {
    await approvedTemplate(w, shop, { name: 'hello', components: [{ type: 'BODY', text: 'Hi there' }] })
    for (const send of [
      (_: string) => shop.chat.post('/messages', { type: 'template', to: mobile, templateName: 'hello' }),
      (id: string) => shop.chat.post(`/conversations/${id}/messages`, { type: 'template', templateName: 'hello' }),
    ]) {
      const { _id } = await add({ mobile })
      let sending: ReturnType<typeof send> | undefined
      await w.db.begin(async tx => {
        await tx`delete from chat_contact where business_id = ${shop.id} and id = ${_id}`
        sending = send(_id)
        await expect
          .poll(async () => (await w.db`select 1 from pg_locks where not granted`).length, { timeout: 10_000 })
          .toBeGreaterThan(0)
      })
      const answer = (await sending)!
      if (answer.status === 200) {
        expect(answer.body.data.chatId).not.toBe(_id)
        expect((await shop.chat.delete(`/contacts/${answer.body.data.chatId}`)).status).toBe(200)
      } else expectRefused(answer, 404)
    }
  })

  test('a send that changes its contact takes its turn like everybody who holds the conversation', async () => {
    const contact = await add()
    expect((await say()).status).toBe(200)
    let sent: ReturnType<typeof say> | undefined
    await w.db.begin(async tx => {
      await tx`select 1 from chat_conversation where business_id = ${shop.id} and id = ${contact._id} for update`
      sent = shop.chat.post('/messages', { type: 'text', to: mobile, text: 'Hello', contact: { name: 'Anna' } })
      await waiting(1)
      // Held by the send, it would wait for us while we wait for it.
      await tx`select 1 from chat_contact where business_id = ${shop.id} and id = ${contact._id} for update nowait`
    })
    expect((await sent!).status).toBe(200)
    expect((await shop.chat.get(`/contacts/${contact._id}`)).body.data.name).toBe('Anna')
  })

  test('another business and nobody: 404 alike', async () => {
    const contact = await add()
    const other = await w.business()
    for (const id of [contact._id, '000000000000000000000000'])
      expectRefused(await other.chat.delete(`/contacts/${id}`), 404)
    expect((await shop.chat.get(`/contacts/${contact._id}`)).status).toBe(200)
  })
})
