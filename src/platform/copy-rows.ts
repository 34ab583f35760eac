import { pipeline } from 'node:stream/promises'
import type { PendingQuery, Row } from 'postgres'

const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
const headerBytes = signature.length + 8
const int4 = 23
const sliceBytes = 262_144
/** PostgreSQL counts from here. */
const epochMs = Date.UTC(2000, 0, 1)
const dayMs = 86_400_000

/**
 * Rows for `copy … from stdin (format binary)`, made in one piece before any of them is sent: the database then waits for nobody, and has
 * neither numbers nor dates to read from text. Cells follow in the order of the columns named.
 */
export class CopyRows {
  #bytes: Buffer
  #at = headerBytes
  readonly #columns: number

  constructor(columns: number, size = 65_536) {
    this.#columns = columns
    this.#bytes = Buffer.allocUnsafe(Math.max(size, 64))
    signature.copy(this.#bytes)
    this.#bytes.fill(0, signature.length, headerBytes)
  }

  begin(): void {
    this.#room(2)
    this.#int16(this.#columns)
  }

  null(): void {
    this.#room(4)
    this.#int32(-1)
  }

  text(value: string): void {
    this.#room(4 + value.length * 3)
    const start = this.#at
    this.#at += 4
    this.#write(value)
    this.#lengthSince(start)
  }

  int(value: number): void {
    this.#room(8)
    this.#int32(4)
    this.#int32(value)
  }

  ints(values: readonly number[]): void {
    this.#room(24 + values.length * 8)
    this.#int32(values.length === 0 ? 12 : 20 + values.length * 8)
    this.#int32(values.length === 0 ? 0 : 1)
    this.#int32(0)
    this.#int32(int4)
    if (values.length === 0) return
    this.#int32(values.length)
    this.#int32(1)
    for (const value of values) {
      this.#int32(4)
      this.#int32(value)
    }
  }

  moment(value: Date): void {
    this.#room(12)
    this.#int32(8)
    this.#at = this.#bytes.writeBigInt64BE(BigInt(value.getTime() - epochMs) * 1_000n, this.#at)
  }

  /** YYYY-MM-DD */
  date(value: string): void {
    this.int(Math.round((Date.parse(value) - epochMs) / dayMs))
  }

  jsonb(value: unknown): void {
    const text = JSON.stringify(value)
    this.#room(5 + text.length * 3)
    const start = this.#at
    this.#at += 4
    this.#bytes[this.#at++] = 1
    this.#write(text)
    this.#lengthSince(start)
  }

  bytea(value: Uint8Array): void {
    this.#room(4 + value.length)
    this.#int32(value.length)
    this.#append(value)
  }

  bits(value: Uint8Array): void {
    this.#room(8 + value.length)
    this.#int32(4 + value.length)
    this.#int32(value.length * 8)
    this.#append(value)
  }

  /** Cells that many rows share, made once by a CopyRows of their own. */
  cells(made: CopyRows): void {
    const shared = made.#bytes.subarray(headerBytes, made.#at)
    this.#room(shared.length)
    this.#append(shared)
  }

  async sendTo(copy: PendingQuery<Row[]>): Promise<void> {
    const { bytes } = this
    const slices = function* () {
      for (let from = 0; from < bytes.length; from += sliceBytes) yield bytes.subarray(from, from + sliceBytes)
    }
    const stream = await copy.writable()
    // An error after the last byte, such as an email that is taken, the driver tells to the query alone, which by then has been
    // answered with the stream: without this nobody would hear of it, and the stream would never end.
    Object.assign(copy, { reject: (error: Error) => stream.destroy(error) })
    await pipeline(slices, stream)
  }

  private get bytes(): Buffer {
    this.#room(2)
    this.#bytes.writeInt16BE(-1, this.#at)
    return this.#bytes.subarray(0, this.#at + 2)
  }

  /** Nearly all text is ASCII, and short: quicker by the character than by a call. */
  #write(text: string): void {
    const [bytes, start] = [this.#bytes, this.#at]
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code >= 128) {
        this.#at = start + bytes.write(text, start)
        return
      }
      bytes[start + i] = code
    }
    this.#at = start + text.length
  }

  #append(value: Uint8Array): void {
    this.#bytes.set(value, this.#at)
    this.#at += value.length
  }

  #lengthSince(start: number): void {
    const end = this.#at
    this.#at = start
    this.#int32(end - start - 4)
    this.#at = end
  }

  #int16(value: number): void {
    this.#bytes[this.#at++] = value >> 8
    this.#bytes[this.#at++] = value
  }

  #int32(value: number): void {
    const bytes = this.#bytes
    bytes[this.#at++] = value >> 24
    bytes[this.#at++] = value >> 16
    bytes[this.#at++] = value >> 8
    bytes[this.#at++] = value
  }

  #room(size: number): void {
    if (this.#at + size <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + size))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }
}
