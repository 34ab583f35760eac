import { createHash } from 'node:crypto'
import { SMTPServer } from 'smtp-server'
import type { Loop } from '../../platform/jobs.ts'
import type { Platform } from '../../platform/platform.ts'
import { isOurs } from '../delivery/classify.ts'
import { recordEvents } from '../tracking/record.ts'
import { deliveryInText, deliveryOfAddress, readReport } from './report.ts'

const largestBytes = 1_048_576
const mostClients = 100

/** Takes bounces and complaints by mail. They are accepted only after they are written, so that none is lost. */
export const inboundLoop = (platform: Platform): Loop => ({
  name: 'email_inbound',
  async run(signal) {
    const { inboundSmtpPort: port, host } = platform.config
    const ended = new Promise<void>(resolve => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    if (port === 0) return ended
    const server = createInbound(platform)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host === 'localhost' ? '127.0.0.1' : host, () => resolve())
    })
    server.on('error', error => platform.log.warn({ err: error }, 'inbound mail'))
    await ended
    await new Promise<void>(resolve => server.close(() => resolve()))
  },
})

export function createInbound(platform: Platform): SMTPServer {
  const { secrets, config, log } = platform
  const feedback = new Set(['fbl', 'abuse', 'postmaster'].map(name => `${name}@${config.mailDomain}`.toLowerCase()))
  return new SMTPServer({
    name: config.mailDomain,
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    size: largestBytes,
    maxClients: mostClients,
    logger: false,
    onRcptTo({ address }, _session, done) {
      if (deliveryOfAddress(secrets, address) || feedback.has(address.toLowerCase())) done()
      else done(refusal(550, '5.1.1 no such mailbox'))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => {
        if (!stream.sizeExceeded) chunks.push(chunk)
      })
      stream.on('end', () => {
        if (stream.sizeExceeded) return done(refusal(552, '5.3.4 too large'))
        const sender = session.envelope.mailFrom
        const mail = {
          raw: Buffer.concat(chunks),
          emptySender: !sender || sender.address === '',
          to: session.envelope.rcptTo.map(one => one.address),
        }
        takeMail(platform, mail).then(
          () => done(),
          error => {
            log.warn({ err: error }, 'a bounce could not be written; the sender keeps it')
            done(refusal(451, '4.3.0 try again later'))
          },
        )
      })
    },
  })
}

const refusal = (code: number, message: string) => Object.assign(new Error(message), { responseCode: code })

/** The same mail told twice has the same id, and counts once. */
export async function takeMail(
  platform: Pick<Platform, 'db' | 'secrets'>,
  mail: { raw: Buffer; emptySender: boolean; to: readonly string[] },
): Promise<void> {
  const { secrets, db } = platform
  const report = await readReport(mail.raw, { emptySender: mail.emptySender })
  if (report.kind === 'none') return
  const named = mail.to.flatMap(address => deliveryOfAddress(secrets, address) ?? [])
  const quoted = named.length === 0 && report.kind === 'complaint' ? deliveryInText(secrets, mail.raw) : undefined
  for (const delivery of quoted ? [quoted] : named) {
    const id = createHash('sha256').update(`${report.kind}:${delivery.deliveryId}:`).update(mail.raw).digest('hex')
    await recordEvents(db, delivery.businessId, [
      {
        id: id.slice(0, 24),
        deliveryId: delivery.deliveryId,
        kind: report.kind,
        at: new Date(),
        reason: report.reason,
        ...(report.kind === 'bounce' && { hard: report.class === 'hard', blamesUs: isOurs(report.class) }),
      },
    ])
  }
}
