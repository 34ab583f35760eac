import type { Call } from '../platform/endpoint.ts'
import { isId, newId } from '../platform/ids.ts'
import { cookie, readCookie } from '../platform/site/cookies.ts'
import { formToken, isVisitor, newVisitor, readFormToken } from '../platform/site/visit.ts'

/**
 * Who stands at the counter, and which order they are about to place. Both live in one signed cookie of the page, so
 * all tabs of a browser share one order: whichever is sent first places it, and the others find it placed.
 */
export interface Visit {
  visitor: string
  order: string
}

const cookieName = 'checkout'
const daySeconds = 86_400

type Place = Pick<Call, 'platform' | 'headers'>

export function readVisit({ platform, headers }: Place, multiplanId: string): Visit | undefined {
  const [visitor, order = ''] =
    platform.secrets.readToken(`checkout visit ${multiplanId}`, readCookie(headers, cookieName) ?? '')?.split(' ') ?? []
  return isVisitor(visitor) && isId(order) ? { visitor, order } : undefined
}

/** The same visitor, about to place another order. */
export const nextVisit = (before: Visit | undefined): Visit => ({
  visitor: before?.visitor ?? newVisitor(),
  order: newId(),
})

export const visitCookie = ({ platform }: Pick<Place, 'platform'>, multiplanId: string, visit: Visit) =>
  cookie(cookieName, platform.secrets.token(`checkout visit ${multiplanId}`, `${visit.visitor} ${visit.order}`), {
    path: `/checkout/${multiplanId}`,
    maxAgeSeconds: daySeconds,
    publicUrl: platform.config.publicUrl,
  })

const purpose = (multiplanId: string, order: string) => `checkout ${multiplanId} ${order}`

export const orderToken = (place: Place, multiplanId: string, visit: Visit) =>
  formToken(place.platform.secrets, {
    visitor: visit.visitor,
    purpose: purpose(multiplanId, visit.order),
    madeAt: new Date(),
  })

/** Whether a form was made by us for this visitor; an old one is ours, but prices may have changed since. */
export function judgeForm(
  place: Place,
  multiplanId: string,
  sent: { visitor: string | undefined; order: string; token: string | undefined },
): 'good' | 'old' | 'foreign' {
  const { secrets } = place.platform
  const madeAt = isId(sent.order)
    ? readFormToken(secrets, sent.token, { visitor: sent.visitor, purpose: purpose(multiplanId, sent.order) })
    : undefined
  if (!madeAt) return 'foreign'
  return Date.now() - madeAt.getTime() > daySeconds * 1000 ? 'old' : 'good'
}
