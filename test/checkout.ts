import type { FastifyInstance } from 'fastify'

/** A visitor without a browser: keeps cookies, reads the form's hidden fields, sends it as a browser would. */
export interface Visitor {
  get(path: string): Promise<PageAnswer>
  /** sends the form of the page that was shown last, with these fields filled in */
  send(fields: Record<string, string>, options?: { forget?: string[] }): Promise<PageAnswer>
  post(path: string, fields: Record<string, string>): Promise<PageAnswer>
  cookies: Map<string, string>
  hidden: Record<string, string>
}

export interface PageAnswer {
  status: number
  text: string
  location: string
  headers: Record<string, unknown>
}

export function visitor(app: FastifyInstance, headers: Record<string, string> = {}): Visitor {
  const cookies = new Map<string, string>()
  const state: Visitor = { get, send, post, cookies, hidden: {} }
  let action = ''
  return state

  async function call(method: 'GET' | 'POST', url: string, payload?: string): Promise<PageAnswer> {
    const answer = await app.inject({
      method,
      url,
      headers: {
        ...headers,
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(payload !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(payload !== undefined && { payload }),
    })
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = String(line).split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    const text = answer.body
    const form = /<form[^>]*action="([^"]+)"/.exec(text)
    if (form) {
      action = form[1] ?? ''
      state.hidden = Object.fromEntries(
        [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(match => [match[1], match[2]]),
      )
    }
    return { status: answer.statusCode, text, location: String(answer.headers.location ?? ''), headers: answer.headers }
  }

  function get(path: string) {
    return call('GET', path)
  }
  function post(path: string, fields: Record<string, string>) {
    return call('POST', path, new URLSearchParams(fields).toString())
  }
  function send(fields: Record<string, string>, { forget = [] }: { forget?: string[] } = {}) {
    const all = { ...state.hidden, ...fields }
    for (const name of forget) delete all[name]
    return post(action, all)
  }
}

let people = 0
export const person = (more: Record<string, string> = {}): Record<string, string> => ({
  email: `buyer${++people}@example.com`,
  first_name: 'Ann',
  last_name: 'Baker',
  country: 'US',
  street: '1 Mill Lane',
  city: 'Portland',
  ...more,
})

export const card = (number = '4242 4242 4242 4242'): Record<string, string> => ({
  method: 'card',
  card_number: number,
  card_expiry: '12 / 35',
  card_cvc: '123',
})
