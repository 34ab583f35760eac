import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import type { House } from '../house.ts'
import { auditCommand } from './audit.ts'
import type { Command } from './command.ts'
import { doctorCommand } from './doctor.ts'
import { jobsCommand } from './jobs.ts'
import { keysCommand } from './keys.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

async function call(command: Command, ...args: string[]): Promise<string> {
  const lines: string[] = []
  await command.run({
    args,
    config: w.platform.config,
    print: text => void lines.push(text),
    withHouse: run => run({ platform: w.platform, services: w.services } as unknown as House),
  })
  return lines.join('\n')
}

test('keys are made, listed and revoked', async () => {
  const { id, email } = await w.business()
  expect(await call(keysCommand, 'create', '--business', id, '--service', 'email', '--read-only')).toMatch(/ppe_\w+/)
  const listed = await call(keysCommand, 'list', '--business', id)
  const [, keyId = ''] = /(\w+) {2}email .*read-only/.exec(listed) ?? []
  expect(await call(keysCommand, 'revoke', '--business', id, '--key', keyId)).toContain('is revoked')
  expect((await email.get('/lists')).status).toBe(200)
})

test('a business or job that does not exist is told, instead of being found in order', async () => {
  const nobody = 'f'.repeat(24)
  const unknown = `There is no business ${nobody}.`
  await expect(call(keysCommand, 'create', '--business', nobody, '--service', 'email')).rejects.toThrow(unknown)
  await expect(call(keysCommand, 'list', '--business', nobody)).rejects.toThrow(unknown)
  await expect(call(keysCommand, 'revoke', '--business', nobody, '--key', nobody)).rejects.toThrow(unknown)
  await expect(call(auditCommand, '--business', nobody)).rejects.toThrow(unknown)
  await expect(call(doctorCommand, 'email', '--business', nobody)).rejects.toThrow(unknown)
  await expect(call(doctorCommand, 'chat')).rejects.toThrow('Expected: doctor or doctor email')
  await expect(call(jobsCommand, 'retry', nobody)).rejects.toThrow(`${nobody} is not the id of a job`)
})
