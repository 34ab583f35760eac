import { Type } from 'typebox'
import type { EventType } from '../../platform/events.ts'

const campaign = { sendId: Type.String(), campaignId: Type.String(), campaignName: Type.String() }
const example = { sendId: '665f1c2ab7e4d90000000000', campaignId: '665f1c2ab7e4d90012ab34cd', campaignName: 'Spring' }

/** What the sending engine tells. */
export const sendingEventTypes: readonly EventType[] = [
  {
    type: 'campaign_send_complete',
    summary: 'Everyone of a send has a result',
    data: Type.Object({ ...campaign, queued: Type.Integer(), sent: Type.Integer() }),
    example: { ...example, queued: 1200, sent: 1187 },
  },
  {
    type: 'campaign_pause',
    summary: 'A send paused by itself, because too many addresses do not exist or too many people complained',
    data: Type.Object({ ...campaign, reason: Type.String() }),
    example: { ...example, reason: '31 of 1200 addresses do not exist (more than 2 %).' },
  },
]
