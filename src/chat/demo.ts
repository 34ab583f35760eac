import type { Business } from '../platform/business.ts'
import { nowFor } from '../platform/clock.ts'
import type { Platform } from '../platform/platform.ts'
import type { DemoLine } from '../platform/service.ts'
import { processNews } from './channel/intake.ts'
import { reportNews, sandboxNumber } from './channel/sandbox.ts'
import { messagesChange } from './channel/sandbox-platform.ts'
import { saveContacts } from './contacts/save-contacts.ts'
import { sendMessage } from './messages/send.ts'
import { addName, getSetting } from './settings/settings.ts'
import { createTemplate, type TemplateDraft } from './templates/templates.ts'

const people = [
  { mobile: '919876543210', name: 'Asha Rao', tags: ['regular'], city: 'Pune', says: 'Is the rye bread back?' },
  {
    mobile: '14155550123',
    name: 'Ben Ortiz',
    tags: ['regular', 'catering'],
    city: 'Oakland',
    says: 'Can you do 40 rolls for Friday?',
  },
  { mobile: '442079460018', name: 'Cleo Marsh', tags: ['new'], city: 'London', says: 'Thanks, that was quick!' },
  { mobile: '4915112345678', name: 'Dieter Kraus', tags: ['new'], city: 'Bremen', says: '' },
  {
    mobile: '5511987654321',
    name: 'Elisa Souza',
    tags: ['regular'],
    city: 'São Paulo',
    says: 'Oi! Vocês abrem no domingo?',
  },
  { mobile: '33612345678', name: 'Farid Benali', tags: [], city: 'Lyon', says: '' },
]

const templates: TemplateDraft[] = [
  {
    name: 'order_ready',
    language: 'en_US',
    category: 'UTILITY',
    components: [{ type: 'BODY', text: 'Hi {{1}}, your order {{2}} is ready to be picked up.' }],
  },
  {
    name: 'weekend_offer',
    language: 'en_US',
    category: 'MARKETING',
    components: [
      { type: 'HEADER', format: 'IMAGE' },
      { type: 'BODY', text: 'Hi {{1}}, two loaves for one this weekend.' },
      {
        type: 'BUTTONS',
        buttons: [{ type: 'URL', text: 'Order', url: 'https://example.com/order/{{1}}' }, { type: 'COPY_CODE' }],
      },
    ],
  },
  {
    name: 'sign_in_code',
    language: 'en_US',
    category: 'AUTHENTICATION',
    components: [
      { type: 'BODY', text: 'Your code is {{1}}.' },
      { type: 'BUTTONS', buttons: [{ type: 'OTP', otp_type: 'COPY_CODE' }] },
    ],
  },
]

/** A bakery with customers, templates and conversations, made through the rules. */
export async function fillChatDemo(platform: Platform, business: Business): Promise<DemoLine[]> {
  const { db } = platform
  const now = await nowFor(db, business)
  const setting = await getSetting(db, business.id)
  for (const name of ['regular', 'new', 'catering']) await addName(db, 'chat_tag', business.id, name)
  await addName(db, 'chat_attribute', business.id, 'city')
  const contacts = people.map(({ mobile, name, tags, city }) => ({
    mobile,
    name,
    tags,
    list: ['Customers'],
    attributes: [{ name: 'city', value: city }],
  }))
  await saveContacts(db, business, contacts, { now, source: 'api', contactSource: 'manual', onDuplicate: 'skip' })
  for (const draft of templates) await createTemplate(platform, db, business, { draft, now })
  const incoming = people
    .filter(person => person.says !== '')
    .map(({ mobile, says, name }, i) => {
      const timestamp = String(Math.floor(now.getTime() / 1000) - 3_600 * (i + 1))
      const message = {
        from: mobile,
        id: `wamid.demo${business.id}${i}`,
        timestamp,
        type: 'text',
        text: { body: says },
      }
      const site = { displayNumber: sandboxNumber, phoneNumberId: setting.id }
      const contacts = [{ wa_id: mobile, profile: { name } }]
      return { afterMs: 0, change: messagesChange(site, { contacts, messages: [message] }) }
    })
  await reportNews(db, business.id, { news: incoming, now, accountId: setting.id })
  const soon = new Date(now.getTime() + 10_000)
  await processNews(platform, db, business.id, { now: soon })
  const replies = [
    { to: '919876543210', type: 'text', text: 'Yes, from seven tomorrow morning.' },
    { to: '14155550123', type: 'template', templateName: 'order_ready', bodyParams: ['Ben', '1042'] },
  ]
  for (const body of replies) await sendMessage(platform, db, business, { body, idempotencyKey: undefined })
  await processNews(platform, db, business.id, { now: soon })
  return [
    {
      label: 'Send a chat message through the sandbox',
      text: `curl -H '{auth}' -H 'Content-Type: application/json' {base}/messages -d '{"to":14155550123,"type":"text","text":"Hello Ben"}'`,
    },
    { label: 'See the conversations', text: `curl -H '{auth}' {base}/conversations` },
  ]
}
