import { expect } from 'vitest'
import { processNews } from '../../src/chat/channel/intake.ts'
import type { Answer, TestBusiness, World } from '../world.ts'

/** Lets everything arrive that the sandbox reports within the next minutes. */
export const settle = (w: World, shop: TestBusiness) =>
  processNews(w.platform, w.db, shop.id, { now: new Date(Date.now() + 600_000) })

/** Makes a template and lets the sandbox approve it. */
export async function approvedTemplate(
  w: World,
  shop: TestBusiness,
  template: object,
): Promise<Record<string, unknown>> {
  const answer = await shop.chat.post('/templates', { language: 'en_US', category: 'UTILITY', ...template })
  expect(answer.status, answer.text).toBe(200)
  await settle(w, shop)
  return answer.body.data
}

/** The payload that went to the platform, without the envelope that is the same for all. */
export async function lastPayload(w: World, shop: TestBusiness): Promise<Record<string, unknown>> {
  const [row] = await w.db<{ payload: Record<string, unknown> }[]>`
    select payload from chat_message where business_id = ${shop.id} and direction = 'out' order by id desc limit 1`
  const { messaging_product, recipient_type, to, ...content } = row!.payload
  expect({ messaging_product, recipient_type }).toEqual({ messaging_product: 'whatsapp', recipient_type: 'individual' })
  expect(to).toMatch(/^\+\d{7,15}$/)
  return content
}

export const countMessages = async (w: World, shop: TestBusiness) =>
  (await w.db<{ count: number }[]>`select count(*)::int as count from chat_message where business_id = ${shop.id}`)[0]!
    .count

export function expectRefused(answer: Answer, status: number, field?: string, limit?: string | number) {
  expect(answer.status, answer.text).toBe(status)
  expect(answer.body).toMatchObject({ success: false, status: 'error', requestId: expect.any(String) })
  if (field !== undefined)
    expect(answer.body.errors.map((error: { field: string }) => error.field)).toContainEqual(field)
  if (limit !== undefined) expect(answer.body.message).toContain(String(limit))
}

export const sentMessage = (to: string) => ({
  to,
  chatId: expect.stringMatching(/^[0-9a-f]{24}$/),
  platformResponse: {
    messaging_product: 'whatsapp',
    contacts: [{ input: `+${to}`, channel_id: to }],
    messages: [{ id: expect.stringMatching(/^wamid\./) }],
    status: 200,
  },
})

/** Sets a field by its path, such as `sections[0].title`. */
export function withField(body: object, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(body) as Record<string, unknown>
  const steps = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  let place: Record<string, unknown> = copy
  for (const step of steps.slice(0, -1)) place = place[step] as Record<string, unknown>
  place[steps.at(-1)!] = value
  return copy
}
