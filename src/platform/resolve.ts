import { lookup, Resolver } from 'node:dns/promises'

/**
 * Finds the addresses of a name by DNS questions of our own, and asks the system only where DNS knows nothing (the
 * hosts file, names of a closed network). The system's resolver works in four threads that the whole process shares: a few names
 * whose servers are dead would hold up every other name for many seconds. So at most two of them are used here.
 */
export type Resolve = (hostname: string) => Promise<string[]>

const questionMs = 2_000
const systemAtOnce = 2

export function createResolve(options: { servers?: string[]; system?: Resolve } = {}): Resolve {
  const resolver = new Resolver({ timeout: questionMs, tries: 2 })
  if (options.servers) resolver.setServers(options.servers)
  const askSystem = inTurns(systemAtOnce, options.system ?? resolveBySystem)
  return async hostname => {
    // Names without a dot are never public: localhost, or a neighbour in a container network.
    if (!hostname.includes('.')) return askSystem(hostname)
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
    return addresses.length > 0 ? addresses : askSystem(hostname)
  }
}

const resolveBySystem: Resolve = async hostname => (await lookup(hostname, { all: true })).map(({ address }) => address)

/** At most so many at once; the others wait in line. */
function inTurns(atOnce: number, resolve: Resolve): Resolve {
  const waiting: (() => void)[] = []
  let busy = 0
  return async hostname => {
    if (busy >= atOnce) await new Promise<void>(ready => waiting.push(ready))
    else busy++
    try {
      return await resolve(hostname)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else busy--
    }
  }
}
