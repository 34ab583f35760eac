import { resolve4, resolveMx, resolveTxt, reverse } from 'node:dns/promises'
import { parseArgs } from 'node:util'
import { openSession } from '../email/delivery/smtp-connect.ts'
import { type ServerRow, serversOf } from '../email/delivery/store-servers.ts'
import type { Platform } from '../platform/platform.ts'
import { requireBusiness } from './command.ts'

/** One thing that was looked at: it is well, it could be better, or mail will suffer. */
export interface Finding {
  level: 'ok' | 'advice' | 'fault'
  text: string
}

/**
 * Looks at what decides whether mail is accepted: DNS of the sender's domain, and the delivery servers of a business.
 * `doctor email --sender news@example.com [--business <id>] [--selector <dkim selector>]`
 */
export async function doctorEmail(platform: Platform, args: string[]): Promise<Finding[]> {
  const { values } = parseArgs({
    args,
    options: { sender: { type: 'string' }, business: { type: 'string' }, selector: { type: 'string' } },
  })
  const business = values.business && (await requireBusiness(platform.db, values.business))
  const servers = business ? await serversOf(platform.db, business.id) : []
  const sender = values.sender ?? servers.find(server => server.senderEmail !== '')?.senderEmail
  const findings: Finding[] = []
  if (!sender?.includes('@'))
    findings.push({
      level: 'fault',
      text: 'Say which address to check: --sender news@example.com (or --business <id>).',
    })
  else {
    const domain = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase()
    const selectors = values.selector
      ? [values.selector]
      : servers.flatMap(server => (server.dkimDomain === domain && server.dkimSelector ? [server.dkimSelector] : []))
    findings.push(...(await checkDomain(domain, selectors)))
  }
  for (const server of servers) findings.push(...(await checkServer(platform, values.business ?? '', server)))
  findings.push(...checkSettings(platform))
  return findings
}

async function checkDomain(domain: string, selectors: readonly string[]): Promise<Finding[]> {
  const [spf, dmarc, mx, keys] = await Promise.all([
    checkSpf(domain),
    checkDmarc(domain),
    checkMx(domain),
    Promise.all(selectors.map(selector => checkDkim(domain, selector))),
  ])
  const noKey: Finding[] =
    selectors.length > 0
      ? []
      : [
          {
            level: 'advice',
            text: `DKIM: no key of ours signs for ${domain}; make one, or be sure that the relay signs.`,
          },
        ]
  return [...spf, ...keys.flat(), ...noKey, ...dmarc, ...mx]
}

/** All strings of a TXT record joined; none where the name or the record is missing. */
async function texts(name: string): Promise<string[] | Error> {
  try {
    return (await resolveTxt(name)).map(parts => parts.join(''))
  } catch (error) {
    const code = (error as { code?: string }).code
    return code === 'ENOTFOUND' || code === 'ENODATA' ? [] : (error as Error)
  }
}

const unreachable = (what: string, error: Error): Finding[] => [
  { level: 'advice', text: `${what}: DNS did not answer (${error.message}); try again.` },
]

async function checkSpf(domain: string): Promise<Finding[]> {
  const records = await texts(domain)
  if (records instanceof Error) return unreachable('SPF', records)
  const spf = records.filter(text => /^v=spf1(\s|$)/i.test(text))
  if (spf.length === 0)
    return [{ level: 'fault', text: `SPF: ${domain} has no record; publish one that names your relay.` }]
  if (spf.length > 1)
    return [{ level: 'fault', text: `SPF: ${domain} has ${spf.length} records; only one is allowed.` }]
  const [record = ''] = spf
  const lookups = record.match(/\b(include:|a\b|mx\b|ptr\b|exists:|redirect=)/gi)?.length ?? 0
  if (lookups > 10) return [{ level: 'fault', text: `SPF: ${lookups} lookups, at most 10 are allowed.` }]
  if (/\+all\b/.test(record)) return [{ level: 'fault', text: 'SPF: "+all" lets everybody send in your name.' }]
  return [{ level: 'ok', text: `SPF: ${record}` }]
}

async function checkDkim(domain: string, selector: string): Promise<Finding[]> {
  const name = `${selector}._domainkey.${domain}`
  const records = await texts(name)
  if (records instanceof Error) return unreachable('DKIM', records)
  const key = records.find(text => /\bp=/.test(text))
  if (!key) return [{ level: 'fault', text: `DKIM: ${name} is not published.` }]
  const value = /\bp=([^;]*)/.exec(key)?.[1]?.replaceAll(/\s/g, '') ?? ''
  if (value === '') return [{ level: 'fault', text: `DKIM: the key at ${name} was revoked.` }]
  if (/k=rsa|^(?!.*\bk=)/.test(key) && value.length < 350)
    return [{ level: 'fault', text: `DKIM: the key at ${name} is shorter than 2048 bits.` }]
  return [{ level: 'ok', text: `DKIM: ${name} is published.` }]
}

async function checkDmarc(domain: string): Promise<Finding[]> {
  const parents = domain.split('.').slice(-2).join('.')
  const records = await texts(`_dmarc.${domain}`)
  if (records instanceof Error) return unreachable('DMARC', records)
  const above = records.length === 0 && parents !== domain ? await texts(`_dmarc.${parents}`) : records
  const dmarc = (above instanceof Error ? [] : above).find(text => /^v=DMARC1/i.test(text))
  if (!dmarc) return [{ level: 'fault', text: `DMARC: _dmarc.${domain} is missing; begin with "v=DMARC1; p=none".` }]
  const policy = /\bp=(\w+)/i.exec(dmarc)?.[1]?.toLowerCase()
  return [
    policy === 'none'
      ? { level: 'advice', text: `DMARC: ${dmarc} (only watches)` }
      : { level: 'ok', text: `DMARC: ${dmarc}` },
  ]
}

async function checkMx(domain: string): Promise<Finding[]> {
  try {
    const records = await resolveMx(domain)
    if (records.some(record => record.exchange === '' || record.exchange === '.'))
      return [{ level: 'fault', text: `MX: ${domain} says it takes no mail; answers and bounces can't reach you.` }]
    return [{ level: 'ok', text: `MX: ${records.map(record => record.exchange).join(', ')}` }]
  } catch {
    return [{ level: 'advice', text: `MX: ${domain} has none; answers of your readers go nowhere.` }]
  }
}

/** Connects, greets, encrypts and logs in, as sending would; nothing is sent. */
async function checkServer(platform: Platform, businessId: string, server: ServerRow): Promise<Finding[]> {
  const findings: Finding[] = []
  const name = `${server.host}:${server.port}`
  try {
    const { offers, replies } = await openSession({
      host: server.host,
      port: server.port,
      security: server.security,
      username: server.username,
      password: server.sealedPassword
        ? platform.secrets.decrypt(server.sealedPassword, `email_delivery_server:${businessId}:${server.id}`)
        : '',
      clientName: platform.config.mailDomain,
      connectTimeoutMs: 10_000,
      commandTimeoutMs: 10_000,
    })
    replies.fail(new Error('checked'))
    findings.push({ level: 'ok', text: `Server ${name}: answers${server.username ? ' and takes the login' : ''}.` })
    if (!offers.pipelining)
      findings.push({ level: 'advice', text: `Server ${name}: no PIPELINING, so sending is slower.` })
    if (server.security === 'none' && server.username)
      findings.push({ level: 'fault', text: `Server ${name}: the password travels in the clear; use starttls or tls.` })
  } catch (error) {
    findings.push({ level: 'fault', text: `Server ${name}: ${(error as Error).message}` })
  }
  return [...findings, ...(await checkReverse(server.host))]
}

async function checkReverse(host: string): Promise<Finding[]> {
  try {
    const [address] = await resolve4(host)
    const names = address ? await reverse(address) : []
    return names.length > 0 ? [] : [{ level: 'advice', text: `Server ${host}: its address has no name (PTR).` }]
  } catch {
    return []
  }
}

function checkSettings({ config }: Platform): Finding[] {
  const findings: Finding[] = []
  if (!config.publicUrl.startsWith('https://'))
    findings.push({
      level: 'advice',
      text: `PENNYPOST_PUBLIC_URL is ${config.publicUrl}; one-click unsubscribe needs https.`,
    })
  if (config.inboundSmtpPort > 0 && config.mailDomain === 'localhost')
    findings.push({ level: 'fault', text: 'Bounces are taken, but PENNYPOST_MAIL_DOMAIN is not set.' })
  if (config.inboundSmtpPort === 0)
    findings.push({
      level: 'advice',
      text: 'Bounce mail is not taken (PENNYPOST_INBOUND_SMTP_PORT is 0); use a webhook, or set it.',
    })
  return findings
}
