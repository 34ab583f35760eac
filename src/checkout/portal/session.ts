import { type BusinessRow, businessById } from '../../accounts/store.ts'
import { type Context, contextOf } from '../../billing/context.ts'
import { findCustomer } from '../../billing/customers/customers.ts'
import type { CustomerRow } from '../../billing/customers/store.ts'
import type { Call, Form } from '../../platform/endpoint.ts'
import { isId } from '../../platform/ids.ts'
import { notFound } from '../../platform/problem.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { cookie, readCookie } from '../../platform/site/cookies.ts'
import { formToken, isVisitor, newVisitor, readFormToken } from '../../platform/site/visit.ts'

/**
 * Customers have no password: a link in their mail proves who they are. It opens a session that lives in one signed
 * cookie of the business's portal.
 */
export interface Session {
  visitor: string
  customer: CustomerRow
  context: Context
}

const cookieName = 'portal'
const linkSeconds = 86_400
const sessionSeconds = 12 * 3_600
const seconds = () => Math.floor(Date.now() / 1000)

export async function getBusiness(call: Call, businessId: string): Promise<BusinessRow> {
  const business = isId(businessId) ? await businessById(call.db, businessId) : undefined
  if (!business) throw notFound('Page')
  return business
}

export const enterPath = (secrets: Secrets, businessId: string, customerId: string) =>
  `/portal/${businessId}/enter/${secrets.token(`portal link ${businessId}`, `${customerId} ${seconds()}`)}`

/** The customer a link was made for, while it is good. */
export function readLink(secrets: Secrets, businessId: string, token: string): string | undefined {
  const [customerId = '', at = ''] = secrets.readToken(`portal link ${businessId}`, token)?.split(' ') ?? []
  return isId(customerId) && seconds() - Number(at) <= linkSeconds ? customerId : undefined
}

export const sessionCookie = ({ platform }: Call, businessId: string, customerId: string) =>
  cookie(
    cookieName,
    platform.secrets.token(`portal session ${businessId}`, `${newVisitor()} ${customerId} ${seconds()}`),
    { path: `/portal/${businessId}`, maxAgeSeconds: sessionSeconds, publicUrl: platform.config.publicUrl },
  )

export const endedCookie = ({ platform }: Call, businessId: string) =>
  cookie(cookieName, '', { path: `/portal/${businessId}`, maxAgeSeconds: 0, publicUrl: platform.config.publicUrl })

export async function findSession(call: Call, business: BusinessRow): Promise<Session | undefined> {
  const token = readCookie(call.headers, cookieName) ?? ''
  const payload = call.platform.secrets.readToken(`portal session ${business.id}`, token)
  const [visitor, customerId = '', at = ''] = payload?.split(' ') ?? []
  if (!isVisitor(visitor) || !isId(customerId) || seconds() - Number(at) > sessionSeconds) return undefined
  const customer = await findCustomer(call.db, business.id, customerId)
  return customer && { visitor, customer, context: await contextOf({ ...call, business }, 'checkout') }
}

const purpose = ({ context, customer }: Session) => `portal ${context.business.id} ${customer.id}`

export const portalToken = (session: Session) =>
  formToken(session.context.platform.secrets, {
    visitor: session.visitor,
    purpose: purpose(session),
    madeAt: new Date(),
  })

export const isOurForm = (session: Session, form: Form): boolean =>
  readFormToken(session.context.platform.secrets, form.token, {
    visitor: session.visitor,
    purpose: purpose(session),
  }) !== undefined
