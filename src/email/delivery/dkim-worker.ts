import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { type SigningKey, signMessage } from './dkim-sign.ts'

/** Messages to sign, one behind the other in `bytes`. */
export interface SigningOrder {
  bytes: ArrayBuffer
  /** where each of them ends */
  ends: number[]
  /** the keys in use, each once, and which of them is for each message */
  keys: SigningKey[]
  which: number[]
}
export type SigningAnswer = { headers: string[] } | { error: string }

// A thread of its own for arithmetic: whoever talks to servers and to the database goes first.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

parentPort?.on('message', ({ bytes, ends, keys, which }: SigningOrder) => {
  let answer: SigningAnswer
  try {
    const whole = Buffer.from(bytes)
    const sign = (end: number, i: number) =>
      signMessage(whole.subarray(ends[i - 1] ?? 0, end), keys[which[i] ?? 0] as SigningKey)
    answer = { headers: ends.map(sign) }
  } catch (error) {
    answer = { error: error instanceof Error ? error.message : String(error) }
  }
  parentPort?.postMessage(answer)
})
