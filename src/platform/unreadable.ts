import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { newId } from './ids.ts'
import { failureBody, Problem } from './problem.ts'

/** What comes over a connection and is no request that could be read: answered in the same body as every other failure. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const problem = problemOf(error.code)
  const body = JSON.stringify(failureBody(problem, newId()))
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function problemOf(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem(431, 'headers_too_large', 'The headers are larger than allowed.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem(408, 'request_timeout', 'The request took too long to come.')
  return new Problem(400, 'bad_request', 'This is not a valid HTTP request.')
}
