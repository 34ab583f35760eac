import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Platform } from '../../platform/platform.ts'
import { mailBody } from '../../platform/site/mail.ts'
import type { Limit } from '../../platform/site/tries.ts'
import { queueSystemMail } from '../delivery/system-mail.ts'
import { saveSubscriber } from '../subscribers/subscribers.ts'
import type { PublicTexts } from './texts.ts'

/**
 * Signing up to a list from a page, with double opt-in: nobody is on the list before they pressed the button behind the
 * link in their mail. The wish itself travels in that link, signed, so strangers can't fill our tables with addresses.
 */
export interface Wish {
  businessId: string
  listId: string
  email: string
  firstName: string
  lastName: string
}

const purpose = 'email subscribe'
const weekMs = 7 * 86_400_000

export const subscribeLimit = (who: { email: string; ip: string }): Limit => ({
  kind: 'subscribe',
  windowSeconds: 900,
  subjects: [
    { subject: `email ${who.email.toLowerCase()}`, most: 3 },
    { subject: `ip ${who.ip}`, most: 20 },
  ],
})

export async function askToConfirm(
  platform: Platform,
  business: Business,
  wish: Wish & { listName: string },
  texts: PublicTexts,
): Promise<void> {
  const { listName, ...kept } = wish
  const token = platform.secrets.token(purpose, JSON.stringify({ ...kept, at: Date.now() }))
  const now = await nowFor(platform.db, business)
  await platform.db.begin(tx =>
    queueSystemMail(tx, business, {
      to: wish.email,
      subject: texts.mailSubject(listName),
      now,
      html: mailBody({
        language: texts.language,
        business: business.name,
        paragraphs: [texts.hello(wish.firstName), texts.mailText(listName, business.name)],
        button: { label: texts.confirm, url: `${platform.config.publicUrl}/subscribe/confirm/${token}` },
        foot: texts.mailFoot,
      }),
    }),
  )
}

/** Undefined when it was not made by us, or is older than a week. */
export function readWish(platform: Platform, token: string): Wish | undefined {
  const payload = platform.secrets.readToken(purpose, token)
  if (payload === undefined) return undefined
  const { at, ...wish } = JSON.parse(payload) as Wish & { at: number }
  return Date.now() - at > weekMs ? undefined : wish
}

/** Whoever confirms wants the mail, also if they had unsubscribed before. */
export async function fulfil(platform: Platform, db: Database, business: Business, wish: Wish): Promise<void> {
  await saveSubscriber(platform, db, business, {
    email: wish.email,
    ...(wish.firstName && { firstName: wish.firstName }),
    ...(wish.lastName && { lastName: wish.lastName }),
    lists: [wish.listId],
    status: 'subscribed',
    source: 'form',
  })
}
