const maxLength = 254
const localPart = /^(?!\.)(?!.*\.\.)[^\s@<>()[\],;:\\"\p{Cc}\p{Cf}]{1,64}(?<!\.)$/u
const domainLabel = /^(?!-)[\p{L}\p{N}-]{1,63}(?<!-)$/u

/** Nearly every address is plain; this tells so in one look. */
const plain =
  /^(?=.{1,64}@)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+(?!\d+$)[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i

/** An address that can be mailed: one @, a dotted domain, no spaces, at most 254 characters. Kept as written, compared in lower case. */
export function isEmail(text: string): boolean {
  if (text.length > maxLength) return false
  if (plain.test(text)) return true
  if (!text.isWellFormed()) return false
  const [local, domain, ...rest] = text.split('@')
  if (local === undefined || domain === undefined || rest.length > 0) return false
  const labels = domain.split('.')
  // No top-level domain is a number: such a domain is an IP address, which takes mail only in brackets.
  if (/^\d+$/.test(labels.at(-1)!)) return false
  return localPart.test(local) && labels.length >= 2 && labels.every(label => domainLabel.test(label))
}
