import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyReport, type Reported, readStatus } from './statuses.ts'

const fresh: Reported = {
  status: 'sending',
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  failedAt: null,
  error: null,
  pricing: null,
  platformId: null,
}
const report = (status: string, timestamp: number) =>
  readStatus({
    id: 'wamid.x',
    status,
    timestamp: String(timestamp),
    ...(status === 'failed' && { errors: [{ code: 131026, title: 'Message undeliverable' }] }),
  })

const reports = fc.array(
  fc.record({
    status: fc.constantFrom('sent', 'delivered', 'read', 'played', 'failed'),
    at: fc.integer({ min: 1, max: 9 }),
  }),
  { maxLength: 8 },
)

describe('reports of a message', () => {
  test('every order of the same reports, also doubled, ends in the same state', () => {
    fc.assert(
      fc.property(
        reports.chain(list =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray([...list, ...list], { minLength: list.length * 2 })),
        ),
        ([list, shuffled]) => {
          const end = (order: typeof list) =>
            order.reduce((message, one) => applyReport(message, report(one.status, one.at)), fresh)
          expect(end(shuffled)).toEqual(end(list))
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('status only moves forward, and a failure never hides a proof of delivery', () => {
    const rank = { sending: 0, sent: 1, failed: 2, delivered: 3, read: 4 } as Record<string, number>
    fc.assert(
      fc.property(reports, list => {
        let message = fresh
        for (const one of list) {
          const next = applyReport(message, report(one.status, one.at))
          expect(rank[next.status]).toBeGreaterThanOrEqual(rank[message.status]!)
          message = next
        }
        const said = list.map(one => one.status)
        if (said.some(one => one === 'delivered' || one === 'read' || one === 'played')) {
          expect(message.status).not.toBe('failed')
          expect(message.error).toBeNull()
        } else if (said.includes('failed')) expect(message).toMatchObject({ status: 'failed', error: { code: 131026 } })
      }),
      { numRuns: 1000 },
    )
  })

  test.each([
    null,
    {},
    { id: 'x' },
    { id: 'x', status: 'sent' },
    { id: 'x', status: 'teleported', timestamp: '1' },
    { id: 5, status: 'sent', timestamp: '1' },
    { id: 'x', status: 'sent', timestamp: '1e99' },
  ])('%j is no status', element => {
    expect(() => readStatus(element)).toThrow()
  })
})
