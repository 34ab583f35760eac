// The receiving server of bench/email-send.ts, in a process of its own: prints its port, answers counts on its input.
import { startSink } from '../test/smtp-sink.ts'

let last = 0
const waited = new Map<string, number>()
const sink = await startSink({
  onReceived: received => {
    last = received.at
    if (received.to.startsWith('quick')) waited.set(received.to, received.at)
  },
})
process.on('message', (ask: { kind: string; id: string }) => {
  process.send?.(ask.kind === 'quick' ? { id: ask.id, quick: [...waited] } : { id: ask.id, count: sink.count, last })
})
process.send?.({ port: sink.port })
// Whoever started it is gone, so nobody will ask any more.
process.on('disconnect', () => process.exit())
