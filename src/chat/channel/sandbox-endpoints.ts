import { Type } from 'typebox'
import { nowFor } from '../../platform/clock.ts'
import { endpoint } from '../../platform/endpoint.ts'
import { newId } from '../../platform/ids.ts'
import { invalidField, unprocessable } from '../../platform/problem.ts'
import { AnyObject } from '../../platform/schema.ts'
import { ContactName, NumberText } from '../contacts/schema.ts'
import { envelope, ok } from '../envelope.ts'
import { readNumber } from '../phone.ts'
import { recentSetting } from '../settings/settings.ts'
import { storable } from '../storable.ts'
import { processNews } from './intake.ts'
import { reportNews, sandboxNumber } from './sandbox.ts'
import { messagesChange } from './sandbox-platform.ts'

export const writeAsPerson = endpoint({
  summary: 'Play a person who writes to you; in the sandbox only',
  description:
    'Goes the way of the platform’s webhooks: makes the conversation, opens the window, obeys STOP and START.',
  body: Type.Object({
    from: NumberText,
    name: Type.Optional(ContactName),
    text: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
    message: Type.Optional(AnyObject),
  }),
  answer: envelope(Type.Object({ id: Type.String() })),
  run: async ({ platform, db, business, body }) => {
    const setting = await recentSetting(platform, business.id)
    if (setting.type !== 'sandbox')
      throw unprocessable('not_in_sandbox', 'This number is connected to the platform; only real people write to it.')
    if (body.text === undefined && !body.message) throw invalidField('text', 'is required, or message')
    const from = readNumber('from', body.from)
    const now = await nowFor(db, business)
    const content = body.message ? storable(body.message) : { type: 'text', text: { body: body.text } }
    const id = `wamid.sandbox${newId()}`
    const change = messagesChange(
      { displayNumber: sandboxNumber, phoneNumberId: `sandbox-${setting.id}` },
      {
        contacts: [{ wa_id: from, profile: { name: body.name ?? '' } }],
        messages: [{ ...content, from, id, timestamp: String(Math.floor(now.getTime() / 1000)) }],
      },
    )
    await reportNews(db, business.id, { news: [{ afterMs: 0, change }], now, accountId: setting.id })
    await processNews(platform, db, business.id, { now })
    return ok('Message received', { id })
  },
})
