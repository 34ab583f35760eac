import { createHash, createPrivateKey, generateKeyPair, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'

/** Answers the DKIM-Signature field, with its line end, for a message. */
export type Signer = (message: Buffer) => Promise<Buffer>

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

const signOnThread = promisify<string, Buffer, KeyObject, Buffer>(sign as never)

/**
 * Signs with RSA-SHA256, relaxed/relaxed (RFC 6376). Hashing is done here; the signature itself, which costs a
 * thousand times as much, on the thread pool, so that the connections never wait for arithmetic.
 */
export function createSigner(options: { domain: string; selector: string; privateKey: string }): Signer {
  const key = createPrivateKey(options.privateKey)
  return async message => {
    const split = message.indexOf('\r\n\r\n')
    const fields = parseFields(message.toString('latin1', 0, split + 2))
    const bodyHash = createHash('sha256')
      .update(relaxedBody(message.subarray(split + 4)), 'latin1')
      .digest('base64')
    const unsigned =
      `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${options.domain}; s=${options.selector};\r\n` +
      ` h=${signedFields.join(':')};\r\n bh=${bodyHash};\r\n b=`
    const canonical =
      signedFields.map(name => (fields.has(name) ? `${fields.get(name)}\r\n` : '')).join('') +
      relaxedField('DKIM-Signature', unsigned.slice('DKIM-Signature:'.length))
    const signature = (await signOnThread('RSA-SHA256', Buffer.from(canonical, 'latin1'), key)).toString('base64')
    return Buffer.from(`${unsigned}${signature.replaceAll(/.{70}/g, '$&\r\n ')}\r\n`, 'latin1')
  }
}

function parseFields(head: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const match of head.matchAll(/^([!-9;-~]+):((?:.*(?:\r\n[ \t])?)*)\r\n/gm))
    fields.set((match[1] ?? '').toLowerCase(), relaxedField(match[1] ?? '', match[2] ?? ''))
  return fields
}

const relaxedField = (name: string, value: string) =>
  `${name.toLowerCase()}:${value
    .replaceAll(/\r\n/g, '')
    .replaceAll(/[ \t]+/g, ' ')
    .trim()}`

export function relaxedBody(body: Buffer): string {
  const text = body
    .toString('latin1')
    .replaceAll(/[ \t]+(?=\r\n)/g, '')
    .replaceAll(/[ \t]+/g, ' ')
    .replace(/(\r\n)+$/, '')
  return text === '' ? '' : `${text}\r\n`
}

/** A new key: the private part for us, the public part for a DNS record. */
export async function makeDkimKey(): Promise<{ privateKey: string; publicKey: string }> {
  const pair = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  return {
    privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicKey: (pair.publicKey.export({ type: 'spki', format: 'der' }) as Buffer).toString('base64'),
  }
}
