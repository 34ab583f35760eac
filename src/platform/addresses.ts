import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Which addresses a user-given URL may reach. */
type Address = ipaddr.IPv4 | ipaddr.IPv6

/** From PENNYPOST_ALLOW_PRIVATE_ADDRESSES: addresses or CIDR blocks between commas. */
export function parseAddressRules(text: string): string[] {
  const entries = text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
  for (const entry of entries) parseBlock(entry)
  return entries
}

function parseBlock(entry: string): [Address, number] {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
  // Asked first, since ipaddr.js also takes forms like "10" for 0.0.0.10.
  if (!isIP(address)) throw new Error(`"${entry}" is neither an IP address nor a CIDR block.`)
  const parsed = ipaddr.parse(address)
  const maxBits = parsed.kind() === 'ipv4' ? 32 : 128
  const prefix = bits === undefined ? maxBits : Number(bits)
  if (prefix > maxBits) throw new Error(`"${entry}" has a prefix longer than ${maxBits} bits.`)
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()) {
    throw new Error(`"${entry}" is an IPv4 address in IPv6 form; write it as IPv4.`)
  }
  return [parsed, prefix]
}

export function addressCheck(allowPrivate: string[]): (address: string) => boolean {
  const blocks = allowPrivate.map(parseBlock)
  return text => {
    if (!isIP(text)) return false
    const address = ipaddr.process(text)
    return isPublic(address) || blocks.some(block => address.kind() === block[0].kind() && address.match(block))
  }
}

/** Public by its range, but answered by the host of a virtual machine (Azure) and not by the internet. */
const HOST_ADDRESSES = new Set(['168.63.129.16'])
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) {
    return address.range() === 'unicast' && !HOST_ADDRESSES.has(address.toString())
  }
  // Networks with IPv6 only reach every IPv4 site in this form; 6to4 and Teredo are out of use and refused whole.
  if (address.match(NAT64)) return isPublic(new ipaddr.IPv4(address.toByteArray().slice(12)))
  return address.match(GLOBAL_UNICAST) && address.range() === 'unicast'
}
