import { createHmac, randomBytes } from 'node:crypto'
import { createTime } from '../events/feed.ts'

/** The Standard Webhooks scheme: what is signed is id, time and body, so that none of them can be exchanged. */
const prefix = 'whsec_'

export const makeSecret = () => prefix + randomBytes(32).toString('base64')

export interface Target {
  url: string
  /** the present one first; the previous one while the overlap lasts */
  secrets: readonly string[]
  credentials: { username: string; password: string } | undefined
}

export interface Message {
  id: string
  body: string
}

export function requestHeaders(target: Target, message: Message, at: Date): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1000)
  const signed = `${message.id}.${timestamp}.${message.body}`
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'webhook-id': message.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': target.secrets.map(secret => sign(secret, signed)).join(' '),
  }
  if (target.credentials) {
    const { username, password } = target.credentials
    headers.authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  }
  return headers
}

const sign = (secret: string, signed: string) =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
    .update(signed)
    .digest('base64')}`

/** `data` as it was written: the body is the same at every attempt, byte for byte. */
export const bodyOf = (event: { type: string; source: string; dataText: string; createdAt: Date }) =>
  `{"event_type":${JSON.stringify(event.type)},"event_source":${JSON.stringify(event.source)},"data":${event.dataText},"create_time":"${createTime(event.createdAt)}"}`
