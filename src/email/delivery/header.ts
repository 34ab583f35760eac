/** Values of header fields that differ per recipient (RFC 5322, RFC 2047). The constant ones are nodemailer's work. */

const longestLine = 76

/** Unstructured text such as a subject: no line breaks from outside, encoded words where it is not plain ASCII. */
export function encodeHeaderText(name: string, value: string): string {
  const text = value
    .replaceAll(/[\r\n\t]+/g, ' ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters have no place in a header
    .replaceAll(/[\x00-\x1f\x7f]/g, '')
    .trim()
  if (/^[ -~]*$/.test(text) && !text.includes('=?') && text.split(' ').every(word => word.length < longestLine))
    return foldWords(text.split(' '), name.length + 2)
  return foldWords(encodedWords(text.toWellFormed()), name.length + 2)
}

/** Words joined by blanks, with a line end before the word that would pass the limit. */
function foldWords(words: readonly string[], start: number): string {
  let column = start
  let result = ''
  for (const [i, word] of words.entries()) {
    if (i > 0) {
      // An empty word stands for a second blank; a line of blanks alone would be obsolete folding.
      const fold = word !== '' && column + 1 + word.length > longestLine
      result += fold ? '\r\n ' : ' '
      column = fold ? 1 : column + 1
    }
    result += word
    column += word.length
  }
  return result
}

/** Each encoded word holds whole characters and at most 75 of its own. */
function encodedWords(text: string): string[] {
  const words: string[] = []
  let chunk = ''
  let bytes = 0
  for (const character of text) {
    const size = Buffer.byteLength(character)
    if (bytes + size > 42) {
      words.push(chunk)
      chunk = ''
      bytes = 0
    }
    chunk += character
    bytes += size
  }
  words.push(chunk)
  return words.map(word => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`)
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (number: number) => String(number).padStart(2, '0')

export function headerDate(at: Date): string {
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`
  return `${days[at.getUTCDay()]}, ${at.getUTCDate()} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()} ${time} +0000`
}
