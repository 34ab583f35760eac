import type { Limit } from '../platform/site/tries.ts'

/** How much guessing a page bears before it asks for a pause. */

const quarterHour = 900

export const couponLimit = (who: { session: string; ip: string }): Limit => ({
  kind: 'coupon',
  windowSeconds: quarterHour,
  subjects: [
    { subject: `session ${who.session}`, most: 10 },
    { subject: `ip ${who.ip}`, most: 40 },
  ],
})

/** Stolen card numbers are tried out on pages like this one. */
export const cardLimit = (who: { session: string; ip: string }): Limit => ({
  kind: 'card',
  windowSeconds: quarterHour,
  subjects: [
    { subject: `session ${who.session}`, most: 6 },
    { subject: `ip ${who.ip}`, most: 20 },
  ],
})

export const linkLimit = (who: { email: string; ip: string }): Limit => ({
  kind: 'portal link',
  windowSeconds: quarterHour,
  subjects: [
    { subject: `email ${who.email.toLowerCase()}`, most: 3 },
    { subject: `ip ${who.ip}`, most: 20 },
  ],
})
