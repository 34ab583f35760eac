import type { Business } from '../../platform/business.ts'
import { nowFor } from '../../platform/clock.ts'
import type { Database, Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Platform } from '../../platform/platform.ts'
import { fail, invalidField, notFound, unprocessable } from '../../platform/problem.ts'
import { openSession } from '../delivery/smtp-connect.ts'
import { isEmail } from '../subscribers/email-address.ts'
import * as store from './store.ts'

/** An SMTP server through which mail leaves. Its password is stored sealed and never answered. */
export interface ServerSettings {
  name?: string
  host?: string
  port?: number
  security?: store.ServerRow['security']
  username?: string
  password?: string
  senderEmail?: string
  senderName?: string
  isDefault?: boolean
  maxConnections?: number
  maxPerSecond?: number
}

/** Names a server of the business in a request about something else; missing is 422. */
export async function findServer(db: Db, businessId: string, id: string): Promise<store.ServerRow> {
  return (
    (await store.find(db, businessId, id)) ??
    fail(
      unprocessable('delivery_server_not_found', 'There is no delivery server with this deliveryServerId.', [
        { field: 'deliveryServerId', message: 'must be the id of a delivery server' },
      ]),
    )
  )
}

export const getServer = async (db: Db, businessId: string, id: string): Promise<store.ServerRow> =>
  (await store.find(db, businessId, id)) ?? fail(notFound('Delivery server'))

const sealContext = (businessId: string, id: string) => `email_delivery_server:${businessId}:${id}`

/** Spec silent: the first server is the default; later ones only when they say so. */
export async function createServer(
  platform: Platform,
  db: Database,
  business: Business,
  given: ServerSettings & { name: string; host: string },
): Promise<store.ServerRow> {
  const id = newId()
  const isFirst = (await store.all(db, business.id)).length === 0
  const base: store.SavedServer = {
    id,
    name: given.name,
    host: given.host,
    port: 587,
    security: 'starttls',
    username: '',
    sealedPassword: '',
    senderEmail: '',
    senderName: '',
    isDefault: isFirst,
    maxConnections: 10,
    maxPerSecond: 0,
  }
  return saveServer(platform, db, business, base, given)
}

export const updateServer = async (
  platform: Platform,
  db: Database,
  business: Business,
  id: string,
  given: ServerSettings,
): Promise<store.ServerRow> => saveServer(platform, db, business, await getServer(db, business.id, id), given)

async function saveServer(
  platform: Platform,
  db: Database,
  business: Business,
  known: store.SavedServer,
  given: ServerSettings,
): Promise<store.ServerRow> {
  const { password, ...plain } = given
  if (plain.senderEmail && !isEmail(plain.senderEmail))
    throw invalidField('senderEmail', 'must be a valid email address')
  const sealed =
    password === undefined
      ? {}
      : {
          sealedPassword: password === '' ? '' : platform.secrets.encrypt(password, sealContext(business.id, known.id)),
        }
  const now = await nowFor(db, business)
  return db.begin(async tx => {
    if (given.isDefault ?? known.isDefault) await store.clearDefault(tx, business.id)
    return store.save(tx, business.id, { ...known, ...plain, ...sealed }, now)
  })
}

/** A scheduled campaign that names it would reach nobody. */
export async function removeServer(db: Database, businessId: string, id: string): Promise<store.ServerRow> {
  const campaign = await store.scheduledThrough(db, businessId, id)
  if (campaign)
    throw unprocessable(
      'delivery_server_in_use',
      `The campaign "${campaign.name}" is scheduled to go through this delivery server. Change the campaign or make it a draft first.`,
    )
  return (await store.remove(db, businessId, id)) ?? fail(notFound('Delivery server'))
}

/** Connects, encrypts and logs in as a send would, and sends nothing. */
export async function testServer(
  platform: Platform,
  db: Database,
  businessId: string,
  id: string,
): Promise<{ works: boolean; reply: string }> {
  const server = await getServer(db, businessId, id)
  const password = server.sealedPassword && platform.secrets.decrypt(server.sealedPassword, sealContext(businessId, id))
  try {
    const session = await openSession({
      host: server.host,
      port: server.port,
      security: server.security,
      username: server.username,
      password,
      clientName: platform.config.mailDomain || 'localhost',
      connectTimeoutMs: 5_000,
      commandTimeoutMs: 5_000,
    })
    session.socket.end('QUIT\r\n')
    return { works: true, reply: 'The server accepts mail from here.' }
  } catch (error) {
    return { works: false, reply: error instanceof Error ? error.message : 'The server does not answer.' }
  }
}
