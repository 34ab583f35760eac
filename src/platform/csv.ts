/** CSV as people export it: any of three separators, quotes where needed, either kind of line end, perhaps a byte order mark. */

export interface CsvRecord {
  /** where it begins in the file, from 1 */
  line: number
  cells: string[]
}

/**
 * Reads whole records. Lines without a quote, nearly all of them, are split at once; only the others are read by the
 * character. A quote that never closes swallows the rest, and the row is then refused for what it lacks.
 */
export function* readCsv(text: string, separator: string, firstLine: number): Generator<CsvRecord> {
  let at = 0
  let line = firstLine
  let quote = nextQuote(text, 0)
  while (at < text.length) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    if (quote < at) quote = nextQuote(text, at)
    if (quote >= end) {
      const row = text.slice(at, text[end - 1] === '\r' ? end - 1 : end)
      if (row !== '') yield { line, cells: row.split(separator) }
      at = end + 1
      line++
      continue
    }
    const record = readQuoted(text, at, separator)
    yield { line, cells: record.cells }
    line += record.lines
    at = record.end
  }
}

/** Looked for once and remembered: to look from every line to the end of the text would take longer than all the rest. */
function nextQuote(text: string, from: number): number {
  const found = text.indexOf('"', from)
  return found < 0 ? Number.POSITIVE_INFINITY : found
}

function readQuoted(text: string, start: number, separator: string): { cells: string[]; end: number; lines: number } {
  const cells: string[] = []
  let at = start
  let lines = 1
  for (;;) {
    let cell = ''
    if (text[at] === '"') {
      at++
      for (;;) {
        const close = text.indexOf('"', at)
        const part = text.slice(at, close < 0 ? text.length : close)
        cell += part
        for (const character of part) if (character === '\n') lines++
        if (close < 0) return { cells: [...cells, cell], end: text.length, lines }
        at = close + 1
        if (text[at] !== '"') break
        cell += '"'
        at++
      }
    }
    // What follows a closing quote, or a cell without quotes, goes up to the next separator or line end.
    const rest = at
    while (at < text.length && text[at] !== separator && text[at] !== '\n') at++
    const ends = at >= text.length || text[at] === '\n'
    cell += text.slice(rest, ends && text[at - 1] === '\r' ? Math.max(rest, at - 1) : at)
    cells.push(cell)
    if (ends) return { cells, end: at + 1, lines }
    at++
  }
}

/** The separator that the header uses most. */
export function separatorOf(header: string): string {
  const count = (separator: string) => header.split(separator).length
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best))
}

const quoteByte = 0x22
const newlineByte = 0x0a

/** Cuts a stream of bytes into chunks that end where a record ends. Holds no more than one chunk and what comes in. */
export async function* cutAtRecords(
  source: AsyncIterable<Buffer>,
  limits: { chunkBytes: number; chunkRecords?: number; maxRecordBytes: number },
): AsyncGenerator<Buffer> {
  let kept: Buffer[] = []
  let size = 0
  let records = 0
  let recordBytes = 0
  let inQuotes = false
  for await (const bytes of source) {
    let start = 0
    let recordStart = -recordBytes
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]
      if (byte === quoteByte) inQuotes = !inQuotes
      else if (byte === newlineByte && !inQuotes) {
        records++
        recordStart = i + 1
        if (records < (limits.chunkRecords ?? Number.POSITIVE_INFINITY) && size + i + 1 - start < limits.chunkBytes)
          continue
        yield Buffer.concat([...kept, bytes.subarray(start, i + 1)])
        kept = []
        size = 0
        records = 0
        start = i + 1
      }
    }
    kept.push(bytes.subarray(start))
    size += bytes.length - start
    recordBytes = bytes.length - recordStart
    if (recordBytes > limits.maxRecordBytes) throw new RecordTooLong()
  }
  if (size > 0) yield Buffer.concat(kept)
}

/** A record that never ends: most often a quote that is opened and never closed. */
export class RecordTooLong extends Error {}
