import { Resolver } from 'node:dns/promises'
import { domainToASCII } from 'node:url'
import { providerOfDomain } from './providers.ts'

/**
 * Whose limits an address falls under. Domains that are hosted share the limits of whoever hosts them, and only the MX
 * record tells who that is. Where DNS does not answer, a domain counts as its own.
 */
export interface MxGroups {
  groupOf(email: string): Promise<string>
}

type ResolveMx = (domain: string) => Promise<{ exchange: string; priority: number }[]>

/** Hosts of providers, by the end of their names. */
const hosts: readonly [suffix: string, provider: string][] = [
  ['google.com', 'google'],
  ['googlemail.com', 'google'],
  ['outlook.com', 'outlook'],
  ['hotmail.com', 'outlook'],
  ['yahoodns.net', 'yahoo'],
  ['icloud.com', 'apple'],
  ['apple.com', 'apple'],
  ['comcast.net', 'comcast'],
  ['orange.fr', 'orange'],
  ['wanadoo.fr', 'orange'],
  ['pphosted.com', 'proofpoint'],
  ['ppe-hosted.com', 'proofpoint'],
  ['mimecast.com', 'mimecast'],
  ['messagingengine.com', 'fastmail'],
  ['zoho.com', 'zoho'],
  ['zoho.eu', 'zoho'],
]
const freshMs = 3_600_000
/** after DNS failed: soon enough to learn it, seldom enough not to wait for it again and again */
const retryMs = 300_000
const mostDomains = 100_000
/** Names that no DNS will ever know (RFC 2606). */
const reserved = /(^|\.)(example|test|invalid|localhost|example\.(com|net|org))$/

const overTheNet: ResolveMx = domain => new Resolver({ timeout: 1_500, tries: 1 }).resolveMx(domain)

export function createMxGroups(resolveMx: ResolveMx = overTheNet): MxGroups {
  const known = new Map<string, { group: Promise<string>; until: number }>()

  const lookUp = async (domain: string): Promise<string> => {
    try {
      const records = await resolveMx(domain)
      const best =
        records
          .sort((a, b) => a.priority - b.priority)[0]
          ?.exchange.toLowerCase()
          .replace(/\.$/, '') ?? ''
      return groupOfHost(best) ?? domain
    } catch {
      const entry = known.get(domain)
      if (entry) entry.until = Date.now() + retryMs
      return domain
    }
  }

  return {
    async groupOf(email) {
      const domain = domainToASCII(email.slice(email.lastIndexOf('@') + 1).toLowerCase())
      const provider = providerOfDomain(domain)
      if (provider) return provider
      if (domain === '' || reserved.test(domain)) return domain
      const entry = known.get(domain)
      if (entry && entry.until > Date.now()) return entry.group
      if (known.size >= mostDomains) known.clear()
      const group = Promise.resolve().then(() => lookUp(domain))
      known.set(domain, { group, until: Date.now() + freshMs })
      return group
    },
  }
}

/** The provider behind an MX host; one that is not in the table goes by the last two labels of its name. */
function groupOfHost(host: string): string | undefined {
  const found = hosts.find(([suffix]) => host === suffix || host.endsWith(`.${suffix}`))
  if (found) return found[1]
  const labels = host.split('.').filter(Boolean)
  // An empty name is a null MX (RFC 7505): nobody's host.
  return labels.length >= 2 ? `mx:${labels.slice(-2).join('.')}` : undefined
}
