import type { Business } from './business.ts'
import type { TimeKeeper } from './clock.ts'
import type { Route } from './endpoint.ts'
import type { EventType, Reactions } from './events.ts'
import type { Loop, Work } from './jobs.ts'
import type { Platform } from './platform.ts'

/** A service as the house sees it: what it answers, what it works on, what it does as time passes. */
export interface Service {
  name: 'account' | 'email' | 'chat' | 'billing' | 'checkout'
  title: string
  base: string
  /** with a key */
  routes: readonly Route[]
  /** under the base URL without a key: webhooks in, which prove themselves by signature */
  openRoutes: readonly Route[]
  /** at the root of the server: pages that people see */
  pages: readonly Route[]
  /** what it tells the outside */
  eventTypes: readonly EventType[]
  /** what it does when another service tells something */
  reactions?(platform: Platform): Reactions
  work(platform: Platform): Work[]
  loops(platform: Platform): Loop[]
  keepers(platform: Platform): TimeKeeper[]
  /** lifelike sample data for a new demo business; answers lines to print, such as a working curl call */
  demo(platform: Platform, business: Business): Promise<DemoLine[]>
  /** recounts what is kept as a running total; answers every difference found */
  audit(platform: Platform, businessId: string): Promise<string[]>
}

export interface DemoLine {
  label: string
  /** {base} and {auth} are replaced by the base URL and the Authorization header of the demo's key */
  text: string
}
