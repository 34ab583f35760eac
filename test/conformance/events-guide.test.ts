import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeSecret } from '../../src/accounts/webhooks/sign.ts'
import { freePort } from '../program.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1/32'] })
})
afterAll(() => w.close())

const root = join(import.meta.dirname, '../..')

test('the receiver of docs/webhooks.md, as it is written there, takes every kind of event and refuses a forged one', async () => {
  const code = /```js\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/webhooks.md'), 'utf8'))?.[1] ?? ''
  const [port, secret] = [await freePort(), makeSecret()]
  const child = spawn(process.execPath, ['--input-type=module', '-e', code.replace('3000', String(port))], {
    cwd: root,
    env: { WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed = text(child.stdout)
  try {
    const url = `http://127.0.0.1:${port}/`
    await expect
      .poll(
        () =>
          fetch(url).then(
            answer => answer.status,
            () => 0,
          ),
        { timeout: 10_000 },
      )
      .toBe(401)
    const shop = await w.business()
    const hook = async (body: object) => (await shop.account.post('/webhooks', { url, ...body })).body.data.id
    const [known, forged] = [await hook({ secret }), await hook({ secret: makeSecret() })]
    const { types } = (await shop.account.get('/events/types')).body.data
    for (const { type } of types) {
      const { body } = await shop.account.post(`/webhooks/${known}/test`, { type })
      expect([type, body.data.answer.status]).toEqual([type, 204])
    }
    expect((await shop.account.post(`/webhooks/${forged}/test`)).body.data.answer.status).toBe(401)
    child.kill()
    for (const { type } of types) expect(await printed).toContain(` ${type} `)
  } finally {
    child.kill()
  }
})
