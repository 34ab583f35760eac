import { createSign, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { testCertificate } from '../../../test/certificate.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { snsText } from './ses.ts'
import { readNotice } from './webhooks.ts'

/**
 * Notices signed as Amazon signs them, with a certificate of our own: only who can publish at Amazon's address could do
 * the same. The certificate is handed out by a stand-in for the network, which notes what it was asked for.
 */
const topic = 'arn:aws:sns:eu-west-1:123456789012:mail'
const deliveryId = '0123456789abcdef01234567'
let number = 0

function network(
  answers: (address: string) => { status: number; body: Buffer } = () => ({
    status: 200,
    body: Buffer.from(testCertificate.cert),
  }),
) {
  const asked: string[] = []
  const fetch = async (address: string) => {
    asked.push(address)
    return { ...answers(address), headers: {} }
  }
  return { asked, outside: { outbound: { fetch } as unknown as Outbound } }
}

/** Each has an address of its own for the certificate, because certificates are kept. */
function signed(more: object = {}, version: '1' | '2' = '2') {
  const message = {
    Type: 'Notification',
    MessageId: 'm1',
    TopicArn: topic,
    Message: JSON.stringify({
      eventType: 'Complaint',
      mail: { tags: { pennypost: [deliveryId] } },
      complaint: { timestamp: '2026-01-01T00:00:00.000Z', complaintFeedbackType: 'abuse' },
    }),
    Timestamp: '2026-01-01T00:00:00.000Z',
    SignatureVersion: version,
    SigningCertURL: `https://sns.eu-west-1.amazonaws.com/cert-${++number}.pem`,
    ...more,
  }
  const text = Buffer.from(snsText(message))
  const signature =
    version === '2'
      ? sign('sha256', text, testCertificate.key)
      : createSign('sha1').update(text).sign(testCertificate.key)
  return { ...message, Signature: signature.toString('base64') }
}

const read = (message: object, { outside }: ReturnType<typeof network>) =>
  readNotice('ses', { body: Buffer.from(JSON.stringify(message)), headers: {}, secret: topic }, outside)

describe('a notice of Amazon', () => {
  test('is taken with either version of the signature, and its certificate is fetched once', async () => {
    const net = network()
    const notice = signed()
    expect(await read(notice, net)).toMatchObject([{ kind: 'complaint', deliveryId, reason: 'abuse' }])
    expect(await read(notice, net)).toHaveLength(1)
    expect(net.asked).toEqual([notice.SigningCertURL])
    expect(await read(signed({}, '1'), net)).toHaveLength(1)
  })

  test('that was changed, or is for another topic, is refused', async () => {
    const net = network()
    const notice = signed()
    for (const change of [
      { Message: notice.Message.replace('abuse', 'fraud') },
      { MessageId: 'm2' },
      { Timestamp: '2026-01-02T00:00:00.000Z' },
      { Signature: '' },
      { Signature: Buffer.alloc(64).toString('base64') },
      { SignatureVersion: '1' },
      { TopicArn: `${topic}2` },
    ])
      expect(await read({ ...notice, ...change }, net)).toBeUndefined()
    expect(await read(signed({ TopicArn: `${topic}2` }), net)).toBeUndefined()
  })

  test('may not bring a certificate from elsewhere: it is not even asked for', async () => {
    const net = network()
    for (const SigningCertURL of [
      'https://evil.example/cert.pem',
      'http://sns.eu-west-1.amazonaws.com/cert.pem',
      'https://sns.eu-west-1.amazonaws.com/cert.txt',
      'https://sns.eu-west-1.amazonaws.com:8443/cert.pem',
      'https://sns.eu-west-1.amazonaws.com.evil.example/cert.pem',
      undefined,
      7,
    ])
      expect(await read(signed({ SigningCertURL }), net)).toBeUndefined()
    expect(net.asked).toEqual([])
  })

  test('is refused where the certificate is none, and asked for again where it can’t be fetched', async () => {
    expect(
      await read(
        signed(),
        network(() => ({ status: 200, body: Buffer.from('<html>') })),
      ),
    ).toBeUndefined()
    const notice = signed()
    const away = read(
      notice,
      network(() => ({ status: 500, body: Buffer.alloc(0) })),
    )
    await expect(away).rejects.toMatchObject({ status: 503 })
    expect(await read(notice, network())).toHaveLength(1)
  })

  test('that asks us to confirm the topic is confirmed at Amazon only', async () => {
    const confirm = (SubscribeURL: string) =>
      signed({ Type: 'SubscriptionConfirmation', Token: 't', Message: 'You have chosen', SubscribeURL })
    const net = network()
    const good = confirm('https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t')
    expect(await read(good, net)).toEqual([])
    expect(net.asked).toEqual([
      good.SigningCertURL,
      'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t',
    ])
    const other = network()
    const bad = confirm('https://evil.example/confirm')
    expect(await read(bad, other)).toEqual([])
    expect(other.asked).toEqual([bad.SigningCertURL])
  })

  test('of nonsense is refused', async () => {
    for (const body of ['', 'x', 'null', '[]', '7', '{}'])
      expect(
        await readNotice('ses', { body: Buffer.from(body), headers: {}, secret: topic }, network().outside),
      ).toBeUndefined()
  })
})
