import { isPassing } from '../platform/database.ts'
import { type Call, type Endpoint, endpoint, type Form, type Raw } from '../platform/endpoint.ts'
import { Problem, unavailable } from '../platform/problem.ts'
import { textsFor } from './texts/choose.ts'
import type { Texts } from './texts/en.ts'
import { unhappyPage } from './unhappy.ts'

/** An operation that answers a page; whatever fails is answered by a page too, never by raw data. */

export interface Visitation<P> {
  call: Call
  params: P
  query: Record<string, string>
  form: Form
  texts: Texts
}

type Show<P> = (visit: Visitation<P>) => Promise<Raw>

export function showPage<P extends Record<string, string>>(summary: string, show: Show<P>): Endpoint {
  return endpoint({ summary, run: call => answer(call, show) })
}

/** The same for what a form sends. */
export function takeForm<P extends Record<string, string>>(summary: string, show: Show<P>): Endpoint {
  return endpoint({ summary, accepts: 'form', run: call => answer(call, show) })
}

async function answer<P>(call: Call, show: Show<P>): Promise<Raw> {
  const form = (call.body ?? {}) as Form
  const query = singleValues(call.query)
  const texts = textsFor({ query: form.lang ? form : query, headers: call.headers })
  try {
    return await show({ call, params: call.params as P, query, form, texts })
  } catch (error) {
    const problem = isPassing(error) ? unavailable('database_unavailable', 'The database is not available.') : error
    if (!(problem instanceof Problem)) return failed(call, error, { status: 500, texts })
    const { status, headers } = problem
    if (status === 404) return unhappyPage(texts.unhappy.missing, { status, texts })
    if (status === 429) return unhappyPage(texts.unhappy.tooMany, { status, texts, headers })
    return failed(call, error, { status, texts, headers })
  }
}

function failed(
  call: Call,
  error: unknown,
  options: { status: number; texts: Texts; headers?: Record<string, string> },
): Raw {
  call.log.error({ err: error, requestId: call.requestId }, 'page failed')
  return unhappyPage(options.texts.unhappy.failed, options)
}

/** A parameter that comes several times counts once. */
const singleValues = (query: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries((query ?? {}) as Record<string, string | string[]>).map(([name, value]) => [
      name,
      Array.isArray(value) ? (value[0] ?? '') : value,
    ]),
  )
