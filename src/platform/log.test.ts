import { expect, test } from 'vitest'
import { createLog } from './log.ts'

const logged = (write: (log: ReturnType<typeof createLog>) => void) => {
  const lines: string[] = []
  write(createLog('trace', { write: line => void lines.push(line) }))
  return lines.join('')
}

test('credentials and people are not written down', () => {
  const text = logged(log => {
    log.info(
      { authorization: 'Bearer ppe_abc', body: { email: 'ann@example.com', card: { number: '4242424242424242' } } },
      'request',
    )
    log.error(
      {
        err: Object.assign(new Error('duplicate key (ann@example.com) for ppe_0123456789abcdef'), {
          detail: 'Key (email)=(ann@example.com)',
          code: '23505',
        }),
      },
      'failed',
    )
  })
  expect(text).not.toMatch(/ann@|4242|ppe_abc|ppe_0123/)
  expect(text).toContain('"code":"23505"')
})

test('an error that comes as a plain copy is told too', () => {
  const copy = { ...new Error('x'), message: 'no connection for ann@example.com', code: 'ECONNREFUSED' }
  const text = logged(log => log.warn({ err: copy }, 'job engine'))
  expect(text).toContain('no connection for [email]')
  expect(text).toContain('"code":"ECONNREFUSED"')
})
