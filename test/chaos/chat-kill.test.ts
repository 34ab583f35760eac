import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type FakePlatform, fakeNumberId, randomFrom, startFakePlatform } from '../fake-platform.ts'
import { freePort, makeDataFolder, type Program, removeDataFolder, startProgram } from '../program.ts'
import { type World, world } from '../world.ts'

/** kill -9 of the real program while it sends: no message twice, none lost, every unknown one flagged and settled. */
let w: World
let data: string
let port: number
let program: Program
let fake: FakePlatform
let headers: Record<string, string>
let businessId: string
let webhook: string

const start = async () => {
  program = await startProgram({
    data,
    port,
    env: {
      DATABASE_URL: w.databaseUrl,
      PENNYPOST_SECRET_KEY: '07'.repeat(32),
      PENNYPOST_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1/32',
      PENNYPOST_SERVICES: 'chat',
    },
  })
}
const chat = (path: string) => `${program.url}/chat/api/v1${path}`
const post = async (path: string, body: unknown, more: Record<string, string> = {}) => {
  const answer = await fetch(chat(path), {
    method: 'POST',
    headers: { ...headers, ...more },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as { data: Record<string, unknown>; code?: string } }
}

beforeAll(async () => {
  w = await world()
  data = await makeDataFolder()
  port = await freePort()
  await start()
})
afterAll(async () => {
  await program.stop()
  await removeDataFolder(data)
  await w.close()
})

beforeEach(async () => {
  fake = await startFakePlatform({ seed: 11, latencyMs: 3 })
  const shop = await w.business()
  businessId = shop.id
  headers = { authorization: shop.chat.authorization, 'content-type': 'application/json' }
  const answer = await fetch(chat('/settings/channel'), {
    method: 'PUT',
    headers,
    body: JSON.stringify({
      type: 'cloud',
      baseUrl: fake.baseUrl,
      phoneNumberId: fakeNumberId,
      accessToken: 'good-token',
      appSecret: 'app-secret',
      enforceWindow: false,
      messagesPerSecond: 5_000,
    }),
  })
  const { data: channel } = (await answer.json()) as { data: { webhookUrl: string } }
  webhook = new URL(channel.webhookUrl).pathname
})
afterEach(() => fake.close())

/** Reports everything, shuffled and doubled, and waits until it is worked through. */
async function reportAll() {
  await fake.deliver(
    async (body, signed) => fetch(`${program.url}${webhook}`, { method: 'POST', headers: signed, body }),
    { shuffle: true, copies: 2, batch: 300 },
  )
  await expect
    .poll(async () => (await w.db`select 1 from chat_webhook where processed_at is null limit 1`).length, {
      timeout: 30_000,
    })
    .toBe(0)
}

/** The lease of a call whose process is gone ends; time is moved instead of waited for. */
const endLeases = async () => {
  await w.db`update chat_message set lease_until = now() - interval '1 second' where status = 'sending'`
  await expect
    .poll(async () => (await w.db`select 1 from chat_message where status = 'sending' limit 1`).length, {
      timeout: 30_000,
    })
    .toBe(0)
}

const timesAccepted = () => {
  const times = new Map<string, number>()
  for (const { payload } of fake.accepted) times.set(String(payload.to), (times.get(String(payload.to)) ?? 0) + 1)
  return times
}

describe('kill -9', () => {
  test('during sends: no number is sent to twice, and every accepted message is known', async () => {
    const total = Number(process.env.CHAOS_SENDS ?? 800)
    const parallel = 24
    const random = randomFrom(5)
    fake.every(25, { do: 'drop' })
    const answered = new Map<string, number>()
    let next = 0
    let killing = false
    const sendAll = async () => {
      while (next < total) {
        const to = String(14150000000 + next++)
        const body = { to, type: 'text', text: `message ${to}` }
        for (let attempt = 0; attempt < 200; attempt++) {
          const answer = await post('/messages', body, { 'idempotency-key': `key ${to}` }).catch(() => undefined)
          if (answer && answer.status !== 503) {
            answered.set(to, answer.status)
            break
          }
          await new Promise(resolve => setTimeout(resolve, 50))
        }
      }
    }
    const killAll = async () => {
      for (const share of [0.2, 0.45, 0.7]) {
        while (next < total * (share + random() * 0.1)) await new Promise(resolve => setTimeout(resolve, 5))
        killing = true
        await program.kill()
        await start()
        killing = false
      }
    }
    await Promise.all([killAll(), ...Array.from({ length: parallel }, sendAll)])
    expect(killing).toBe(false)
    await reportAll()
    await endLeases()

    const times = timesAccepted()
    expect([...times.values()].filter(count => count > 1)).toEqual([])
    const rows = await w.db<{ recipient: string; status: string; platformId: string | null }[]>`
      select recipient, status, platform_id as "platformId" from chat_message where business_id = ${businessId}`
    const byNumber = new Map(rows.map(row => [row.recipient, row]))
    expect(byNumber.size).toBe(rows.length)
    // Whatever the platform accepted is known here as read, with its id.
    for (const { payload, id } of fake.accepted)
      expect(byNumber.get(String(payload.to).slice(1))).toMatchObject({ status: 'read', platformId: id })
    // Whatever was answered with success was accepted; what is not known is flagged, and no more than was under way.
    for (const [to, status] of answered) if (status === 200) expect(times.get(`+${to}`)).toBe(1)
    const unsettled = rows.filter(row => row.status !== 'read')
    expect(unsettled.every(row => row.status === 'unknown')).toBe(true)
    expect(unsettled.length).toBeLessThanOrEqual(3 * parallel)
    // Nothing is lost: each number was answered, and those without success have a row that says why, or never began.
    expect(answered.size).toBe(total)
    for (const [to, status] of answered) if (status === 504) expect(byNumber.has(to)).toBe(true)
  }, 120_000)

  test('during a broadcast: it goes on by itself, nobody gets it twice, and the report adds up', async () => {
    const template = {
      id: '1',
      name: 'ad',
      language: 'en_US',
      status: 'APPROVED',
      category: 'MARKETING',
      parameterFormat: 'POSITIONAL',
      components: [{ type: 'BODY', text: 'Hi {{1}}, news.' }],
    }
    fake.templates.set('ad:en_US', template)
    await post('/templates/sync', {})
    const audience = 700
    const contacts = Array.from({ length: audience }, (_, i) => ({ mobile: 14160000000 + i, list: ['All'] }))
    await post('/contacts', contacts)
    fake.every(40, { do: 'drop' })
    const { body } = await post('/broadcasts', {
      name: 'News',
      templateName: 'ad',
      lists: ['All'],
      bodyParams: ['{{name|friend}}'],
    })
    for (const share of [0.2, 0.6]) {
      await expect.poll(() => fake.accepted.length, { timeout: 30_000, interval: 5 }).toBeGreaterThan(audience * share)
      await program.kill()
      await start()
    }
    const read = async () =>
      (
        (await (await fetch(chat(`/broadcasts/${body.data._id}`), { headers })).json()) as {
          data: { status: string; report: Record<string, number> }
        }
      ).data
    await expect
      .poll(async () => (await read()).report.accepted! + (await read()).report.unknown! > 0, { timeout: 30_000 })
      .toBe(true)
    await expect
      .poll(
        async () => {
          await endLeases()
          return (await read()).status
        },
        { timeout: 60_000, interval: 500 },
      )
      .toBe('finished')
    await reportAll()
    const { report } = await read()
    const times = timesAccepted()
    expect([...times.values()].filter(count => count > 1)).toEqual([])
    expect(report.audience).toBe(audience)
    expect(report.read).toBe(times.size)
    expect(report.read! + report.unknown!).toBe(audience)
    expect(report.unknown).toBeLessThanOrEqual(2 * 200)
  }, 120_000)
})
