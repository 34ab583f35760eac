import { createPrivateKey, hash, type KeyObject, sign } from 'node:crypto'

export interface SigningKey {
  domain: string
  selector: string
  /** PEM */
  privateKey: string
}

/** What a receiver should be able to trust; those that are missing are signed as missing, so that none can be added. */
const signedFields = [
  'from',
  'to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-type',
  'list-id',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'feedback-id',
]

const keys = new Map<string, KeyObject>()

function keyOf(pem: string): KeyObject {
  let key = keys.get(pem)
  if (!key) {
    if (keys.size >= 1_000) keys.clear()
    key = createPrivateKey(pem)
    keys.set(pem, key)
  }
  return key
}

/**
 * The DKIM-Signature field of a message, with its line end: RSA-SHA256, relaxed/simple (RFC 6376). Our bodies are
 * quoted-printable with short lines, which nobody on the way has a reason to change, so they are hashed as they are.
 */
export function signMessage(message: Buffer, { domain, selector, privateKey }: SigningKey): string {
  const split = message.indexOf('\r\n\r\n')
  const fields = parseFields(message.toString('latin1', 0, split + 2))
  const bodyHash = hash('sha256', simpleBody(message.subarray(split + 4)), 'base64')
  const unsigned =
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/simple; d=${domain}; s=${selector};\r\n` +
    ` h=${signedFields.join(':')};\r\n bh=${bodyHash};\r\n b=`
  const canonical =
    signedFields.map(name => (fields.has(name) ? `${fields.get(name)}\r\n` : '')).join('') +
    relaxedField('DKIM-Signature', unsigned.slice('DKIM-Signature:'.length))
  const signature = sign('RSA-SHA256', Buffer.from(canonical, 'latin1'), keyOf(privateKey)).toString('base64')
  return `${unsigned}${signature.replaceAll(/.{70}/g, '$&\r\n ')}\r\n`
}

const wanted = new Set(signedFields)

/** The fields that are signed, in their relaxed form. */
function parseFields(head: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (let from = 0; from < head.length; ) {
    let end = head.indexOf('\r\n', from)
    // A line that begins with a blank goes on with the field before it.
    while (end >= 0 && (head.charCodeAt(end + 2) === 32 || head.charCodeAt(end + 2) === 9))
      end = head.indexOf('\r\n', end + 2)
    if (end < 0) end = head.length
    const colon = head.indexOf(':', from)
    const name = colon < 0 || colon > end ? '' : head.slice(from, colon).toLowerCase()
    if (wanted.has(name)) fields.set(name, relaxedField(name, head.slice(colon + 1, end)))
    from = end + 2
  }
  return fields
}

const relaxedField = (name: string, value: string) =>
  `${name.toLowerCase()}:${value
    .replaceAll(/\r\n/g, '')
    .replaceAll(/[ \t]+/g, ' ')
    .trim()}`

/** Lines that are empty at the end are none, but the body ends with one line end. */
function simpleBody(body: Buffer): Buffer {
  let end = body.length
  while (end >= 2 && body[end - 1] === 10 && body[end - 2] === 13) end -= 2
  if (end + 2 <= body.length) return body.subarray(0, end + 2)
  return Buffer.concat([body.subarray(0, end), Buffer.from('\r\n')])
}
