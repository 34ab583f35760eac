import { createHash } from 'node:crypto'
import { classify, isOurs } from '../delivery/classify.ts'
import type { TrackedEvent } from '../tracking/record.ts'

export const providers = ['ses', 'sendgrid', 'postmark', 'mailgun'] as const
export type Provider = (typeof providers)[number]

export interface Notice {
  body: Buffer
  headers: Record<string, string | string[] | undefined>
  /** what the provider and we share: topic address, public key, user:password, signing key */
  secret: string
}

/** The header that makes a provider give our mark back. */
export const markHeader: Record<Provider, (deliveryId: string) => string> = {
  ses: id => `X-SES-MESSAGE-TAGS: pennypost=${id}\r\n`,
  sendgrid: id => `X-SMTPAPI: {"unique_args":{"pennypost":"${id}"}}\r\n`,
  postmark: id => `X-PM-Metadata-pennypost: ${id}\r\n`,
  mailgun: id => `X-Mailgun-Variables: {"pennypost":"${id}"}\r\n`,
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of others, looked into with care
export type Json = any

export function json(body: Buffer): Json {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

const isDeliveryId = (id: unknown): id is string => typeof id === 'string' && /^[0-9a-f]{24}$/.test(id)
export const timeOf = (value: unknown) => {
  const at = typeof value === 'number' ? new Date(value * 1000) : new Date(String(value))
  return Number.isNaN(at.getTime()) ? new Date() : at
}

/** Drops what is not ours, and gives each the id that makes a repeat harmless. */
export function event(
  provider: Provider,
  key: unknown,
  told: Omit<TrackedEvent, 'id' | 'deliveryId'> & { deliveryId: unknown },
): TrackedEvent[] {
  if (!isDeliveryId(told.deliveryId)) return []
  const id = createHash('sha256')
    .update(`${provider}:${told.kind}:${told.deliveryId}:${String(key)}`)
    .digest('hex')
  return [{ ...told, deliveryId: told.deliveryId, id: id.slice(0, 24) }]
}

const causeOf = (text: string) => classify({ code: 550, text }, 'RCPT').class
export const isHard = (text: string) => causeOf(text) === 'hard'
export const blamesUs = (text: string) => text !== '' && isOurs(causeOf(text))
