import { isbot } from 'isbot'

/** What is known of a hit on the pixel or a link. */
export interface Hit {
  kind: 'open' | 'click'
  method: string
  userAgent: string
  /** since the server took the message; gateways look at it then, people later */
  sinceDeliveryMs: number
  /** links of the same message followed within a few seconds */
  linksAtOnce: number
}

/** Proxies that fetch a picture because a person opened the message. */
const humanProxies = /GoogleImageProxy|YahooMailProxy|Outlook-iOS/i
/** Scanners and programs that do not call themselves bots. */
const machines =
  /^$|^Mozilla\/4\.0 \(compatible; ms-office|barracuda|proofpoint|mimecast|symantec|trendmicro|fortinet|sophos|forcepoint|messagelabs|ironport|zscaler|SafeLinks|urldefense|python|curl|wget|okhttp|java\/|go-http|axios|node-fetch|undici|libwww|headless|phantom|selenium|puppeteer|playwright/i

/** Why a hit is taken for a machine's; undefined: a person. Nothing is dropped for it, it only counts for nothing. */
export function machineReason(hit: Hit): string | undefined {
  if (hit.method === 'HEAD') return 'asked for the head only'
  if (humanProxies.test(hit.userAgent)) return undefined
  // Apple's privacy proxy fetches every picture at delivery and says no more than this of itself.
  if (hit.userAgent === 'Mozilla/5.0') return 'privacy proxy'
  if (machines.test(hit.userAgent)) return 'scanner or program'
  if (isbot(hit.userAgent)) return 'bot'
  if (hit.linksAtOnce >= 3) return 'followed several links at once'
  if (hit.kind === 'click' && atDelivery(hit, 2_000)) return 'clicked at delivery'
  if (hit.kind === 'open' && atDelivery(hit, 500)) return 'opened at delivery'
  return undefined
}

/** Before the delivery is no time at all: the business lives by a test clock. */
const atDelivery = (hit: Hit, ms: number) => hit.sinceDeliveryMs >= 0 && hit.sinceDeliveryMs < ms
