import type { Database, Db } from '../../platform/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { OutboundRefused } from '../../platform/outbound-refused.ts'
import type { Platform } from '../../platform/platform.ts'
import { fail, notFound, unprocessable } from '../../platform/problem.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { type Catalogue, checkTypes } from '../events/catalogue.ts'
import type { EndpointChanges, NewEndpoint } from './schema.ts'
import { makeSecret, type Target } from './sign.ts'
import * as store from './store.ts'

/**
 * Endpoints that events are sent to.
 *
 * An endpoint is *enabled* or *disabled*: by its owner, by three days without a success, or because it answered 410
 * Gone. While it is disabled no deliveries are made for new events (they stay in the feed and can be replayed), and
 * those that already wait stand still; enabling lets them go on.
 */
export const maxEndpoints = 50
const defaultOverlapHours = 24

/** What the deliverer and the rules need besides the database. */
export type Tools = Pick<Platform, 'secrets' | 'outbound'>

export type EndpointView = Omit<store.EndpointRow, 'businessId' | 'secret' | 'previousSecret' | 'password'>
export type EndpointWithSecret = EndpointView & { secret: string }

/** Without what is secret. */
export function view(row: store.EndpointRow): EndpointView {
  const { businessId: _, secret: _secret, previousSecret: _previous, password: _password, ...shown } = row
  return shown
}

export const listEndpoints = async (db: Db, businessId: string) => (await store.endpointsOf(db, businessId)).map(view)

export const getEndpoint = async (db: Db, businessId: string, id: string): Promise<store.EndpointRow> =>
  (await store.endpointById(db, businessId, id)) ?? fail(notFound('Webhook'))

export async function createEndpoint(
  db: Database,
  businessId: string,
  wanted: NewEndpoint,
  { tools, catalogue }: { tools: Tools; catalogue: Catalogue },
): Promise<EndpointWithSecret> {
  const types = [...new Set(wanted.types ?? ['*'])]
  checkTypes(catalogue, types, 'types')
  await checkUrl(tools.outbound, wanted.url)
  const secret = wanted.secret ?? makeSecret()
  const id = newId()
  return db.begin(async tx => {
    await store.lockEndpointsOf(tx, businessId)
    if ((await store.countEndpoints(tx, businessId)) >= maxEndpoints)
      throw unprocessable(
        'too_many_webhooks',
        `A business has at most ${maxEndpoints} webhook endpoints; delete one first.`,
      )
    await store.insertEndpoint(tx, businessId, {
      id,
      url: wanted.url,
      types,
      description: wanted.description ?? '',
      secret: tools.secrets.encrypt(secret, sealContext(businessId, id)),
      ...sealCredentials(tools.secrets, { businessId, id }, wanted.credentials),
    })
    return { ...view(await getEndpoint(tx, businessId, id)), secret }
  })
}

export async function updateEndpoint(
  db: Database,
  businessId: string,
  id: string,
  { changes, tools, catalogue }: { changes: EndpointChanges; tools: Tools; catalogue: Catalogue },
): Promise<EndpointView> {
  await getEndpoint(db, businessId, id)
  const types = changes.types && [...new Set(changes.types)]
  if (types) checkTypes(catalogue, types, 'types')
  if (changes.url !== undefined) await checkUrl(tools.outbound, changes.url)
  return db.begin(async tx => {
    await store.updateEndpoint(tx, businessId, id, { ...changes, types })
    if (changes.credentials !== undefined)
      await store.setCredentials(
        tx,
        businessId,
        id,
        sealCredentials(tools.secrets, { businessId, id }, changes.credentials),
      )
    return view(await getEndpoint(tx, businessId, id))
  })
}

export async function deleteEndpoint(db: Db, businessId: string, id: string): Promise<EndpointView> {
  const endpoint = await getEndpoint(db, businessId, id)
  await store.deleteEndpoint(db, businessId, id)
  return view(endpoint)
}

/** Both secrets sign until the overlap ends, so that a receiver can change over without refusing one event. */
export async function rotateSecret(
  db: Database,
  businessId: string,
  id: string,
  options: { secret?: string; overlapHours?: number; tools: Tools; now: Date },
): Promise<EndpointWithSecret> {
  const { secret = makeSecret(), overlapHours = defaultOverlapHours, tools, now } = options
  return db.begin(async tx => {
    await getEndpoint(tx, businessId, id)
    await store.rotateSecret(tx, businessId, id, {
      secret: tools.secrets.encrypt(secret, sealContext(businessId, id)),
      previousUntil: new Date(now.getTime() + overlapHours * 3_600_000),
    })
    return { ...view(await getEndpoint(tx, businessId, id)), secret }
  })
}

export function disableEndpoint(db: Database, businessId: string, id: string, now: Date): Promise<EndpointView> {
  return db.begin(async tx => {
    await getEndpoint(tx, businessId, id)
    await store.disableEndpoint(tx, businessId, id, { reason: 'owner', now })
    return view(await getEndpoint(tx, businessId, id))
  })
}

export function enableEndpoint(db: Database, businessId: string, id: string, now: Date): Promise<EndpointView> {
  return db.begin(async tx => {
    const { state } = await getEndpoint(tx, businessId, id)
    if (state === 'disabled') await store.enableEndpoint(tx, businessId, id, now)
    return view(await getEndpoint(tx, businessId, id))
  })
}

/**
 * Spec silent: a name that is not found (yet) is accepted, because names are often made after the endpoint; each
 * delivery is checked again anyway.
 */
async function checkUrl(outbound: Outbound, url: string): Promise<void> {
  await outbound.check(url).catch(error => {
    if (!(error instanceof OutboundRefused)) throw error
    if (error.reason !== 'unresolvable')
      throw unprocessable('webhook_url_refused', error.message, [{ field: 'url', message: error.message }])
  })
}

/** Where and how to send, with the secrets opened. */
export function targetOf(secrets: Secrets, endpoint: store.EndpointRow, now: Date): Target {
  const context = sealContext(endpoint.businessId, endpoint.id)
  const { previousSecret, previousSecretUntil, username, password } = endpoint
  const overlap = previousSecret !== null && previousSecretUntil !== null && previousSecretUntil > now
  return {
    url: endpoint.url,
    secrets: [endpoint.secret, ...(overlap ? [previousSecret] : [])].map(sealed => secrets.decrypt(sealed, context)),
    credentials:
      username === null
        ? undefined
        : { username, password: password === null ? '' : secrets.decrypt(password, context) },
  }
}

const sealContext = (businessId: string, id: string) => `webhook ${businessId} ${id}`

function sealCredentials(
  secrets: Secrets,
  { businessId, id }: { businessId: string; id: string },
  credentials: { username: string; password: string } | null | undefined,
): { username: string | null; password: string | null } {
  if (!credentials) return { username: null, password: null }
  return {
    username: credentials.username,
    password: secrets.encrypt(credentials.password, sealContext(businessId, id)),
  }
}
