import type { Outbound } from '../../platform/outbound.ts'
import { OutboundRefused } from '../../platform/outbound-refused.ts'
import { unprocessable } from '../../platform/problem.ts'

export interface Attachment {
  filename: string
  contentType: string
  content: Buffer
}

const maxBytes = 1_048_576
const timeoutMs = 10_000

/** Fetches every file once, before the send is accepted, so that a bad one is told while nothing is queued yet. */
export const fetchAttachments = (
  outbound: Outbound,
  attachments: readonly { filename: string; url: string }[],
): Promise<Attachment[]> =>
  Promise.all(attachments.map((one, i) => fetchAttachment(outbound, one, `attachments[${i}].url`)))

async function fetchAttachment(
  outbound: Outbound,
  { filename, url }: { filename: string; url: string },
  field: string,
): Promise<Attachment> {
  const refused = (why: string) =>
    unprocessable('attachment_refused', `Attachment "${filename}" can't be used: ${why}`, [{ field, message: why }])
  try {
    const answer = await outbound.fetch(url, { maxBytes, timeoutMs, maxRedirects: 3 })
    if (answer.status < 200 || answer.status > 299) throw refused(`its address answered ${answer.status}.`)
    return { filename, contentType: contentType(answer.headers['content-type']), content: answer.body }
  } catch (error) {
    throw error instanceof OutboundRefused ? refused(error.message) : error
  }
}

const contentType = (header = ''): string => {
  const type = header.split(';')[0]!.trim().toLowerCase()
  return /^[a-z0-9!#$&^_.+-]{1,60}\/[a-z0-9!#$&^_.+-]{1,60}$/.test(type) ? type : 'application/octet-stream'
}
