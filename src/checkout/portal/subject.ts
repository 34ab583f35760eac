import type { SubscriptionRow } from '../../billing/subscriptions/store.ts'
import { findSubscription } from '../../billing/subscriptions/store.ts'
import { Raw } from '../../platform/endpoint.ts'
import { Problem } from '../../platform/problem.ts'
import { redirect } from '../../platform/site/page.ts'
import type { Visitation } from '../page.ts'
import { changeable, over } from './home.ts'
import { portalPath } from './layout.ts'
import { findSession, getBusiness, isOurForm, type Session } from './session.ts'
import { signInPage } from './sign-in.ts'

export type SubjectPath = { business_id: string; subscription_id: string }

/** Who acts on which of their subscriptions. */
export interface Subject {
  session: Session
  subscription: SubscriptionRow
}

/** Leads somebody to one of their own subscriptions; a form must be ours besides. */
export async function approach(
  visitation: Visitation<SubjectPath>,
  needs: { form: boolean; changeable?: boolean },
): Promise<Subject | Raw> {
  const { call, params, form, texts } = visitation
  const business = await getBusiness(call, params.business_id)
  const session = await findSession(call, business)
  if (!session || (needs.form && !isOurForm(session, form))) return signInPage(business, texts, { over: !session })
  const subscription = await findSubscription(call.db, business.id, params.subscription_id)
  if (subscription?.customerId !== session.customer.id) return redirect(portalPath(business.id))
  const possible = needs.changeable ? changeable.has(subscription.status) : !over.has(subscription.status)
  return possible ? { session, subscription } : say(session, 'impossible')
}

export const isAnswer = (found: Subject | Raw): found is Raw => found instanceof Raw

export const say = ({ context }: Session, what: string): Raw =>
  redirect(`${portalPath(context.business.id)}?said=${what}`)

/** What billing refuses by a rule is told on the account page, where its present state is seen. */
export async function orImpossible(session: Session, act: () => Promise<Raw>): Promise<Raw> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof Problem && (error.status === 422 || error.status === 409 || error.status === 404))
      return say(session, 'impossible')
    throw error
  }
}
