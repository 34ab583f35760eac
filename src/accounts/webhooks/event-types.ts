import { Type } from 'typebox'
import type { EventType } from '../../platform/events.ts'
import { Choice, Id } from '../../platform/schema.ts'

/** What the account itself tells. */
export const accountEventTypes: readonly EventType[] = [
  {
    type: 'webhook_test',
    summary: 'A test call; it is sent only when you ask for it, and changes nothing.',
    data: Type.Object({ message: Type.String() }),
    example: { message: 'Hello from Pennypost' },
  },
  {
    type: 'webhook_disabled',
    summary: 'A webhook endpoint was disabled, because it failed for three days or answered 410 Gone.',
    data: Type.Object({
      id: Id,
      url: Type.String(),
      description: Type.String(),
      reason: Choice(['failing', 'gone']),
    }),
    example: {
      id: '6b0f0c1a9d3e4f5a6b7c8d9e',
      url: 'https://example.com/hook',
      description: 'Order desk',
      reason: 'failing',
    },
  },
]
