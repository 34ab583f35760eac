import { randomBytes } from 'node:crypto'
import type { Secrets } from '../secrets.ts'

/**
 * A form token proves that a form was made by us for this visitor: it is signed, and bound to a secret in a cookie that
 * other sites can neither read nor send along. It also says when the form was made.
 */
export const newVisitor = () => randomBytes(16).toString('base64url')
export const isVisitor = (text: string | undefined): text is string => text !== undefined && /^[\w-]{22}$/.test(text)

export const formToken = (secrets: Secrets, form: { visitor: string; purpose: string; madeAt: Date }) => {
  const at = Math.floor(form.madeAt.getTime() / 1000).toString(36)
  return `${at}.${secrets.sign('page form', `${form.visitor} ${form.purpose} ${at}`)}`
}

/** When the form was made, or undefined when we did not make it for this visitor and purpose. */
export function readFormToken(
  secrets: Secrets,
  token: string | undefined,
  form: { visitor: string | undefined; purpose: string },
): Date | undefined {
  const [, at = '', signature = ''] = /^([0-9a-z]{1,8})\.([\w-]+)$/.exec(token ?? '') ?? []
  if (!isVisitor(form.visitor) || !secrets.verify('page form', `${form.visitor} ${form.purpose} ${at}`, signature))
    return undefined
  return new Date(Number.parseInt(at, 36) * 1000)
}
