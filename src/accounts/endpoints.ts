import { Type } from 'typebox'
import { nowFor, type TimeKeeper } from '../platform/clock.ts'
import { endpoint } from '../platform/endpoint.ts'
import { badRequest, fail, notFound } from '../platform/problem.ts'
import { AnyObject, Choice, IdInPath, TimestampText } from '../platform/schema.ts'
import { checkCurrency, checkTimeZone, createAllKeys, createBusiness } from './accounts.ts'
import { advanceClock, setClock } from './advance-clock.ts'
import { envelope, ok } from './envelope.ts'
import { createKey, keyServices, revokeKey } from './keys.ts'
import {
  BusinessSchema,
  ClockSchema,
  KeySchema,
  Name,
  NewBusinessSchema,
  NewKeySchema,
  profileFields,
  UserSchema,
} from './schema.ts'
import * as store from './store.ts'

export const getBusiness = endpoint({
  summary: 'The business of this key',
  answer: envelope(BusinessSchema),
  run: async ({ db, business }) =>
    ok('Business', (await store.businessById(db, business.id)) ?? fail(notFound('Business'))),
})

export const updateBusiness = endpoint({
  summary: 'Change the business of this key',
  body: Type.Object({
    name: Type.Optional(Name),
    timeZone: Type.Optional(Type.String()),
    currency: Type.Optional(Type.String()),
    settings: Type.Optional(AnyObject),
  }),
  answer: envelope(BusinessSchema),
  run: async ({ db, business, body }) => {
    if (body.timeZone) checkTimeZone(body.timeZone)
    if (body.currency) checkCurrency(body.currency)
    return ok('Business updated', (await store.updateBusiness(db, business.id, body)) ?? fail(notFound('Business')))
  },
})

const showUser = ({ profile, ...user }: store.UserRow) => {
  const said = Object.keys(profileFields).map(name => [name, String(profile[name] ?? '')])
  return { ...user, ...(Object.fromEntries(said) as Record<keyof typeof profileFields, string>) }
}

export const getUser = endpoint({
  summary: 'The owner of the account',
  answer: envelope(UserSchema),
  run: async ({ db, business }) =>
    ok('User', showUser((await store.userById(db, business.userId)) ?? fail(notFound('User')))),
})

export const updateUser = endpoint({
  summary: 'Change what the owner says of themself; it is shown on invoices',
  body: Type.Partial(Type.Object(profileFields)),
  answer: envelope(UserSchema),
  run: async ({ db, business, body }) => {
    const known = Object.entries(body).filter(([name]) => name in profileFields)
    const user = await store.updateUserProfile(db, business.userId, Object.fromEntries(known))
    return ok('User updated', showUser(user ?? fail(notFound('User'))))
  },
})

export const listBusinesses = endpoint({
  summary: 'All businesses of the account',
  answer: envelope(Type.Object({ businesses: Type.Array(BusinessSchema) })),
  run: async ({ db, business }) => ok('Businesses', { businesses: await store.businessesOf(db, business.userId) }),
})

export const addBusiness = endpoint({
  summary: 'Make another business, with a key for each service',
  body: Type.Object({
    name: Name,
    testMode: Type.Optional(Type.Boolean()),
    timeZone: Type.Optional(Type.String()),
    currency: Type.Optional(Type.String()),
  }),
  answer: envelope(NewBusinessSchema),
  run: call =>
    call.db.begin(async tx => {
      const made = await createBusiness(tx, call.business.userId, call.body)
      const keys = await createAllKeys(tx, made.id, call.platform.config.publicUrl)
      return ok('Business created', { business: made, ...keys })
    }),
})

export const listKeys = endpoint({
  summary: 'Keys of this business',
  answer: envelope(Type.Object({ keys: Type.Array(KeySchema) })),
  run: async ({ db, business }) => ok('Keys', { keys: await store.keysOf(db, business.id) }),
})

export const addKey = endpoint({
  summary: 'Make a key; it is shown only in this answer',
  body: Type.Object({
    service: Choice(keyServices),
    name: Type.Optional(Type.String({ maxLength: 200 })),
    readOnly: Type.Optional(Type.Boolean()),
  }),
  answer: envelope(NewKeySchema),
  run: async ({ db, business, body }) => ok('Key created', await createKey(db, business.id, body)),
})

export const removeKey = endpoint({
  summary: 'Revoke a key; it stops working within a second everywhere',
  params: Type.Object({ id: IdInPath }),
  answer: envelope(KeySchema),
  run: async ({ db, business, params }) => ok('Key revoked', await revokeKey(db, business.id, params.id)),
})

export const getClock = endpoint({
  summary: 'The time this business lives in',
  answer: envelope(ClockSchema),
  run: async ({ db, business }) => ok('Clock', { now: await nowFor(db, business), testMode: business.testMode }),
})

export const putClock = endpoint({
  summary: 'Set the test clock',
  body: Type.Object({ now: TimestampText }),
  answer: envelope(ClockSchema),
  effects: 'outside',
  run: async ({ platform, business, body }) =>
    ok('Clock set', { now: await setClock(platform, business, new Date(body.now)), testMode: true }),
})

/** The only endpoint that needs to know what the services do in time. */
export const advance = (keepers: () => readonly TimeKeeper[]) =>
  endpoint({
    summary: 'Advance the test clock, doing everything that falls due on the way, in order',
    body: Type.Object({
      to: Type.Optional(TimestampText),
      days: Type.Optional(Type.Integer({ minimum: 0, maximum: 36_600 })),
      hours: Type.Optional(Type.Integer({ minimum: 0, maximum: 878_400 })),
    }),
    answer: envelope(ClockSchema),
    effects: 'outside',
    run: async ({ platform, business, body }) => {
      const { to, days = 0, hours = 0 } = body
      if (to === undefined && body.days === undefined && body.hours === undefined)
        throw badRequest('validation_failed', 'Give to, or days and hours.', [{ field: 'to', message: 'is required' }])
      const target = (now: Date) => (to ? new Date(to) : new Date(now.getTime() + (days * 24 + hours) * 3_600_000))
      return ok('Clock advanced', { now: await advanceClock(platform, keepers(), business, target), testMode: true })
    },
  })
