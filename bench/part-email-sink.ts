// The receiving server of bench/email-send.ts, in a process of its own and as lean as it can be: what it costs is taken
// from the program that is measured. It reads envelopes, looks for the end of each body, counts, and remembers when
// addresses that begin with "quick" were accepted. Tells its port to whoever forked it, and answers counts.
import { createServer, type Socket } from 'node:net'

let count = 0
const quick = new Map<string, number>()
const endOfData = Buffer.from('\r\n.\r\n')
const lineEnd = 10

function converse(socket: Socket): void {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  let inData = false
  let to = ''
  /** of a body: its last four bytes; of a command: what came of its line */
  let rest: Buffer = Buffer.alloc(0)

  const command = (line: string): string => {
    const verb = line.charCodeAt(0)
    if (verb === 77) return '250 2.1.0 ok\r\n'
    if (verb === 82 && line.startsWith('RCPT')) {
      to = line.startsWith('quick', 9) ? line.slice(9, line.indexOf('>')) : ''
      return '250 2.1.5 ok\r\n'
    }
    if (verb === 68) {
      inData = true
      return '354 go ahead\r\n'
    }
    if (verb === 69) return '250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 SIZE 52428800\r\n'
    if (verb === 81) return '221 2.0.0 bye\r\n'
    return '250 2.0.0 ok\r\n'
  }

  socket.on('data', (chunk: Buffer) => {
    let data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    rest = Buffer.alloc(0)
    let answer = ''
    while (data.length > 0) {
      if (inData) {
        const end = data.indexOf(endOfData)
        if (end < 0) {
          rest = data.subarray(Math.max(0, data.length - 4))
          break
        }
        inData = false
        count++
        if (to !== '') quick.set(to, Date.now())
        answer += '250 2.0.0 queued\r\n'
        data = data.subarray(end + endOfData.length)
      } else {
        const end = data.indexOf(lineEnd)
        if (end < 0) {
          rest = data
          break
        }
        answer += command(data.toString('latin1', 0, end))
        data = data.subarray(end + 1)
      }
    }
    if (answer !== '') socket.write(answer, 'latin1')
  })
  socket.write('220 sink ESMTP\r\n')
}

const server = createServer(converse).listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as { port: number }).port })
})
process.on('message', (ask: { kind: string; id: string }) => {
  process.send?.(ask.kind === 'quick' ? { id: ask.id, quick: [...quick] } : { id: ask.id, count })
})
// Whoever started it is gone, so nobody will ask any more.
process.on('disconnect', () => process.exit())
