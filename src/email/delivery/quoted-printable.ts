/**
 * Quoted-printable (RFC 2045) in pieces: every piece stands on lines of its own, between soft line breaks, so that
 * constant pieces stay valid whatever a recipient's values are. A dot never begins a line, so no piece needs
 * dot-stuffing for SMTP.
 */
export const softBreak = '=\r\n'
const longestLine = 75

const HEX = Array.from({ length: 256 }, (_, byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`)

/** Encodes text of any length; lines of the text stay lines. The last line has no end. */
export function encodeQuotedPrintable(text: string): string {
  return text
    .replaceAll(/\r\n|\r|\n/g, '\n')
    .split('\n')
    .map(encodeLine)
    .join('\r\n')
}

function encodeLine(line: string): string {
  const bytes = Buffer.from(line)
  let done = ''
  let current = ''
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    const plain = (byte >= 33 && byte <= 126 && byte !== 61) || ((byte === 32 || byte === 9) && i < bytes.length - 1)
    let unit = plain ? String.fromCharCode(byte) : (HEX[byte] as string)
    if (current.length + unit.length > longestLine) {
      done += current + softBreak
      current = ''
    }
    if (current === '' && unit === '.') unit = '=2E'
    current += unit
  }
  return done + current
}

const plainText = /^[!-<>-~](?:[ -<>-~]*[!-<>-~])?$/
/** Short of the limit, so that a dot which begins a line can be written with three characters. */
const plainLine = 72

/** A value between soft breaks: mostly short and plain, and then it is its own encoding. */
export function encodeValue(value: string): string {
  if (value === '') return ''
  // A blank at the end would be followed by a soft break, so nothing could strip it; the long way handles it all the same.
  if (!plainText.test(value)) return encodeQuotedPrintable(value)
  if (value.length <= plainLine) return value.charCodeAt(0) === dot ? `=2E${value.slice(1)}` : value
  let encoded = ''
  for (let from = 0; from < value.length; from += plainLine) {
    const line = value.slice(from, from + plainLine)
    encoded += (from > 0 ? softBreak : '') + (line.charCodeAt(0) === dot ? `=2E${line.slice(1)}` : line)
  }
  return encoded
}

const dot = 46
