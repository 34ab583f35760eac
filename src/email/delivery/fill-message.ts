import { type Evaluate, isTrue, type MergeData } from './expression.ts'
import { encodeValue, softBreak } from './quoted-printable.ts'

/** A compiled part: constant bytes, the number of a value, or branches of which a recipient gets one. */
export type Node = Buffer | number | { branches: { condition: Evaluate | undefined; nodes: Node[] }[] }

/**
 * The values that differ per recipient, each once: a name that a message says fifty times is looked up, escaped and
 * encoded one time for each recipient.
 */
export class Values {
  private readonly numbers = new Map<string, number>()
  private readonly evaluates: ((data: MergeData) => string)[] = []
  private readonly filled: (string | undefined)[] = []

  /** `key` says what the value is and how it is escaped. */
  numberOf(key: string, evaluate: (data: MergeData) => string): number {
    const known = this.numbers.get(key)
    if (known !== undefined) return known
    const number = this.evaluates.push(evaluate) - 1
    this.numbers.set(key, number)
    return number
  }

  forget(): void {
    for (let i = 0; i < this.evaluates.length; i++) this.filled[i] = undefined
  }

  /** Encoded, with the soft break that ends it. */
  encoded(number: number, data: MergeData): string {
    const known = this.filled[number]
    if (known !== undefined) return known
    const value = encodeValue(this.evaluates[number]?.(data) ?? '')
    const made = value === '' ? '' : value + softBreak
    this.filled[number] = made
    return made
  }
}

export function writeNodes(nodes: readonly Node[], values: Values, data: MergeData, writer: Writer): void {
  for (const node of nodes) {
    if (typeof node === 'number') writer.ascii(values.encoded(node, data))
    else if (node instanceof Uint8Array) writer.bytes(node)
    else writeNodes(chosen(node.branches, data), values, data, writer)
  }
}

const nothing: never[] = []

/** The nodes of the first branch whose condition holds. */
export function chosen<T>(branches: readonly { condition: Evaluate | undefined; nodes: T[] }[], data: MergeData): T[] {
  for (const branch of branches) if (!branch.condition || isTrue(branch.condition(data))) return branch.nodes
  return nothing
}

export function countBytes(nodes: readonly Node[]): number {
  return nodes.reduce((sum: number, node) => {
    if (typeof node === 'number') return sum + 80
    if ('branches' in node) return sum + Math.max(0, ...node.branches.map(branch => countBytes(branch.nodes)))
    return sum + node.length
  }, 0)
}

const shortText = 24

/** Writes into a buffer that grows only when a recipient's values are unusually long. */
export class Writer {
  buffer: Buffer
  length = 0

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  reserve(size: number): void {
    if (this.length + size <= this.buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.length + size))
    this.buffer.copy(larger, 0, 0, this.length)
    this.buffer = larger
  }

  bytes(bytes: Buffer): void {
    this.reserve(bytes.length)
    this.buffer.set(bytes, this.length)
    this.length += bytes.length
  }

  ascii(text: string): void {
    const { length } = text
    this.reserve(length)
    const { buffer } = this
    if (length > shortText) buffer.write(text, this.length, 'latin1')
    // Most values are names: for a few characters the way into the engine and back costs more than the copy.
    else for (let i = 0, at = this.length; i < length; i++) buffer[at + i] = text.charCodeAt(i)
    this.length += length
  }

  text(text: string): void {
    this.reserve(text.length * 3)
    this.length += this.buffer.write(text, this.length, 'utf8')
  }
}
