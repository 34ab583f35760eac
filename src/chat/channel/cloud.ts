import { randomUUID } from 'node:crypto'
import type { Outbound, OutboundAnswer } from '../../platform/outbound.ts'
import { OutboundRefused } from '../../platform/outbound-refused.ts'
import type { Platform } from '../../platform/platform.ts'
import { badGateway, outcomeUnknown, unprocessable } from '../../platform/problem.ts'
import type { Channel, Outcome, PlatformAnswer, PlatformError, PlatformTemplate } from './channel.ts'
import { describeError } from './errors.ts'

export interface CloudAccess {
  baseUrl: string
  phoneNumberId: string
  businessAccountId: string
  accessToken: string
}

const timeoutMs = 10_000
const connections = 256
const maxAnswerBytes = 4 * 1024 * 1024
const maxTemplatePages = 100
const mediaTimeoutMs = 120_000
const maxMediaBytes = 100 * 1024 * 1024

const outbounds = new WeakMap<Platform, Outbound>()
function outboundOf(platform: Platform): Outbound {
  let outbound = outbounds.get(platform)
  if (!outbound) {
    outbound = platform.openOutbound({ connectionsPerOrigin: connections })
    outbounds.set(platform, outbound)
  }
  return outbound
}

/** The real platform, over connections that stay open. */
export function cloudChannel(platform: Platform, access: CloudAccess): Channel {
  const outbound = outboundOf(platform)
  const headers = { authorization: `Bearer ${access.accessToken}`, 'content-type': 'application/json' }
  const call = (method: string, path: string, body?: object) =>
    outbound.fetch(path.startsWith('http') ? path : `${access.baseUrl}/${path}`, {
      method,
      headers,
      timeoutMs,
      maxRedirects: 0,
      maxBytes: maxAnswerBytes,
      ...(body && { body: JSON.stringify(body) }),
    })
  const read = async (method: string, path: string, body?: object) =>
    readOrRefuse(await call(method, path, body).catch(explain))

  return {
    async send(payload, { path }) {
      try {
        return readOutcome(await call('POST', `${access.phoneNumberId}/${path}`, payload))
      } catch (error) {
        if (!(error instanceof OutboundRefused)) throw error
        return error.notSent
          ? { result: 'not_sent', reason: error.message }
          : { result: 'unknown', reason: error.message }
      }
    },
    async markRead(platformId) {
      await read('POST', `${access.phoneNumberId}/messages`, {
        messaging_product: 'whatsapp',
        status: 'read',
        message_id: platformId,
      })
    },
    async createTemplate({ definition }) {
      const { name, language, category, parameterFormat, components, ttlSeconds } = definition
      const made = await read('POST', `${access.businessAccountId}/message_templates`, {
        name,
        language,
        category,
        parameter_format: parameterFormat,
        components,
        ...(ttlSeconds !== undefined && { message_send_ttl_seconds: ttlSeconds }),
      })
      return {
        platformId: String(made.id ?? ''),
        status: String(made.status ?? 'PENDING'),
        category: String(made.category ?? category),
      }
    },
    async uploadMedia(file) {
      const { body, contentType } = mediaForm(file)
      const answer = await outbound
        .fetch(`${access.baseUrl}/${access.phoneNumberId}/media`, {
          method: 'POST',
          headers: { authorization: headers.authorization, 'content-type': contentType },
          timeoutMs: mediaTimeoutMs,
          maxRedirects: 0,
          body,
        })
        .catch(explain)
      return String(readOrRefuse(answer).id ?? '')
    },
    async fetchMedia(platformId) {
      // The id comes from outside and becomes part of an address.
      if (!/^\d{1,40}$/.test(platformId)) throw unprocessable('media_id_invalid', 'The platform named no media id.')
      const { url, mime_type: mimeType } = await read(
        'GET',
        `${platformId}?phone_number_id=${encodeURIComponent(access.phoneNumberId)}`,
      )
      const { status, body } = await outbound
        .fetch(String(url), {
          headers: { authorization: headers.authorization },
          timeoutMs: mediaTimeoutMs,
          maxBytes: maxMediaBytes,
          maxRedirects: 0,
        })
        .catch(explain)
      if (status !== 200) throw badGateway('channel_failed', `The platform answered ${status} to the download.`)
      return { content: body, mimeType: String(mimeType ?? '') }
    },
    async listTemplates() {
      const found: PlatformTemplate[] = []
      const first = `${access.businessAccountId}/message_templates?limit=100&fields=id,name,language,category,status,parameter_format,components,quality_score,rejected_reason`
      let next: string | undefined = first
      for (let page = 0; next && page < maxTemplatePages; page++) {
        const answer: Record<string, unknown> = await read('GET', next)
        for (const template of Array.isArray(answer.data) ? answer.data : []) found.push(readTemplate(template))
        const paging = answer.paging as { next?: string; cursors?: { after?: string } } | undefined
        // Only the cursor is followed: the address in `next` comes from outside and carries the token along.
        next =
          paging?.next && paging.cursors?.after
            ? `${first}&after=${encodeURIComponent(paging.cursors.after)}`
            : undefined
      }
      return found
    },
  }
}

/** The platform takes uploads as a form. */
function mediaForm({ mimeType, filename, content }: { mimeType: string; filename: string; content: Buffer }) {
  const boundary = `pennypost-${randomUUID()}`
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const safeName = filename.replaceAll(/[\r\n"\\]/g, '_')
  const body = Buffer.concat([
    Buffer.from(
      `${field('messaging_product', 'whatsapp')}${field('type', mimeType)}--${boundary}\r\n` +
        `content-disposition: form-data; name="file"; filename="${safeName}"\r\ncontent-type: ${mimeType}\r\n\r\n`,
    ),
    content,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  return { body, contentType: `multipart/form-data; boundary=${boundary}` }
}

/** A readable error decides by its code, whatever the HTTP status; an answer without one says nothing. */
export function readOutcome(answer: OutboundAnswer): Outcome {
  const body = parse(answer.body)
  const id = (body as { messages?: { id?: unknown }[] } | undefined)?.messages?.[0]?.id
  if (answer.status < 300 && typeof id === 'string')
    return {
      result: 'accepted',
      platformId: id,
      answer: { ...(body as unknown as PlatformAnswer), status: answer.status },
    }
  if (hasErrorCode(body)) return { result: 'refused', error: readRefusal(answer.status, body, answer.headers) }
  if (answer.status === 429)
    return {
      result: 'refused',
      error: readRefusal(429, { error: { code: 130429, message: 'Rate limit hit' } }, answer.headers),
    }
  // A refusal in the 4xx range without a code is still a refusal: nothing was accepted.
  if (answer.status >= 400 && answer.status < 500)
    return {
      result: 'refused',
      error: readRefusal(answer.status, { error: { code: 100, message: `HTTP ${answer.status}` } }, {}),
    }
  return {
    result: 'unknown',
    reason: `The platform answered ${answer.status} without saying what became of the message.`,
  }
}

const hasErrorCode = (body: unknown): body is object =>
  Number.isInteger((body as { error?: { code?: unknown } } | undefined)?.error?.code)

export function readRefusal(httpStatus: number, body: object, headers: Record<string, string>): PlatformError {
  const error = ((body as { error?: Record<string, unknown> }).error ?? {}) as Record<string, unknown>
  const data = error.error_data
  const details = typeof data === 'string' ? data : String((data as { details?: unknown } | undefined)?.details ?? '')
  const retryAfterMs = readWait(headers)
  return {
    code: Number(error.code ?? 100),
    title: String(error.message ?? 'Refused').replace(/^\(#\d+\)\s*/, ''),
    details,
    httpStatus,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(typeof error.fbtrace_id === 'string' && { traceId: error.fbtrace_id }),
  }
}

/** Seconds in Retry-After, minutes in the usage header. */
function readWait(headers: Record<string, string>): number | undefined {
  const seconds = Number(headers['retry-after'])
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000
  const minutes = /"estimated_time_to_regain_access"\s*:\s*(\d+)/.exec(headers['x-business-use-case-usage'] ?? '')?.[1]
  return minutes === undefined || minutes === '0' ? undefined : Number(minutes) * 60_000
}

function parse(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function readOrRefuse(answer: OutboundAnswer): Record<string, unknown> {
  const body = parse(answer.body)
  if (hasErrorCode(body)) {
    const error = readRefusal(answer.status, body, answer.headers)
    throw unprocessable('channel_rejected', `The platform refused: ${describeError(error)}.`)
  }
  if (answer.status >= 300 || !body) throw badGateway('channel_failed', `The platform answered ${answer.status}.`)
  return body
}

const explain = (error: unknown): never => {
  if (!(error instanceof OutboundRefused)) throw error
  throw error.notSent
    ? badGateway('channel_unreachable', `The platform could not be reached: ${error.message}`)
    : outcomeUnknown('channel_outcome_unknown', `The platform did not answer: ${error.message}`)
}

function readTemplate(raw: Record<string, unknown>): PlatformTemplate {
  const quality = raw.quality_score as { score?: unknown } | undefined
  return {
    platformId: String(raw.id ?? ''),
    name: String(raw.name ?? ''),
    language: String(raw.language ?? ''),
    category: String(raw.category ?? ''),
    status: String(raw.status ?? 'PENDING'),
    parameterFormat: String(raw.parameter_format ?? 'POSITIONAL'),
    components: Array.isArray(raw.components) ? raw.components : [],
    quality: String(quality?.score ?? 'UNKNOWN'),
    rejectedReason: String(raw.rejected_reason ?? ''),
  }
}
