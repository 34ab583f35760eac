import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../../test/world.ts'
import { html } from '../../platform/html.ts'
import { queueSystemMail } from './system-mail.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

const now = new Date('2026-03-01T10:00:00.000Z')

test('a system mail is queued for one person, and its text is never read as a template', async () => {
  const shop = await w.business()
  const sendId = await w.db.begin(tx =>
    queueSystemMail(tx, shop, {
      to: 'ann@example.com',
      subject: 'Hello {{ firstName }}',
      html: html`<p>Hello ${'{% if x %}{{ y }}'}</p>`,
      now,
    }),
  )
  const [row] = await w.db`
    select s.subject, s.lane, s.queued, c.source, c.footer, b.emails, b.done
    from email_send s join email_content c using (business_id) join email_block b using (business_id)
    where s.business_id = ${shop.id} and s.id = ${sendId} and c.id = s.content_id and b.send_id = s.id`
  expect(row).toEqual({
    subject: 'Hello { { firstName }}',
    lane: 0,
    queued: 1,
    source: '<p>Hello &#123;% if x %}&#123;{ y }}</p>',
    footer: false,
    emails: ['ann@example.com'],
    done: false,
  })
  expect(await w.db`select 1 from email_due where business_id = ${shop.id}`).toHaveLength(1)
})

test('the same text to two people is two messages', async () => {
  const shop = await w.business()
  const mail = { subject: 'Hello', html: html`<p>Hello</p>`, now }
  const ids = await w.db.begin(async tx => [
    await queueSystemMail(tx, shop, { ...mail, to: 'ann@example.com' }),
    await queueSystemMail(tx, shop, { ...mail, to: 'bob@example.com' }),
  ])
  expect(new Set(ids).size).toBe(2)
  expect(await w.db`select 1 from email_block where business_id = ${shop.id}`).toHaveLength(2)
})
