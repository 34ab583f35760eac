import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { connect } from '../../src/platform/database.ts'
import { newId } from '../../src/platform/ids.ts'
import { withDatabase } from '../database.ts'
import {
  command,
  createAccount,
  freePort,
  launch,
  makeDataFolder,
  type Program,
  removeDataFolder,
  startProgram,
} from '../program.ts'

let data: string
const running: Program[] = []
beforeEach(async () => {
  data = await makeDataFolder()
})
afterEach(async () => {
  for (const program of running.splice(0))
    if (program.child.exitCode === null && program.child.signalCode === null) await program.stop()
  await removeDataFolder(data)
})
/** Without the demo, which takes a second to make. */
const start = (options: Partial<Parameters<typeof startProgram>[0]> = {}) =>
  startAsNewcomer({ ...options, env: { PENNYPOST_DEMO: 'false' } })
const startAsNewcomer = async (options: Partial<Parameters<typeof startProgram>[0]> = {}) => {
  const program = await startProgram({ data, ...options })
  running.push(program)
  return program
}
const readBusiness = (program: Program, account: { account: { apiKey: string } }) =>
  fetch(`${program.url}/account/api/v1/business`, { headers: { authorization: `Bearer ${account.account.apiKey}` } })

describe('a newcomer', () => {
  test('gets a demo with keys that work, a command line beside it, and everything again after a restart', async () => {
    const first = await startAsNewcomer()
    const output = first.output()
    const key = /ppa_\w+/.exec(output)?.[0]
    expect(
      (await fetch(`${first.url}/account/api/v1/business`, { headers: { authorization: `Bearer ${key}` } })).status,
    ).toBe(200)
    for (const path of [
      '/health',
      '/ready',
      '/metrics',
      '/docs',
      '/email/api/v2/openapi.json',
      '/chat/api/v1/openapi.json',
      '/billing/api/v1/openapi.json',
    ])
      expect([path, (await fetch(first.url + path)).status]).toEqual([path, 200])

    const account = await createAccount(data)
    expect(Object.keys(account)).toEqual(['userId', 'businessId', 'account', 'email', 'chat', 'billing'])
    expect(Object.keys(account.billing)).toEqual(['baseUrl', 'apiKey', 'secretKey'])
    expect((await readBusiness(first, account)).status).toBe(200)
    expect(await first.stop()).toBe(0)

    const second = await startAsNewcomer()
    expect(second.output()).not.toContain('demo business')
    expect((await readBusiness(second, account)).status).toBe(200)
  }, 60_000)

  test('can use the command line with no program running', async () => {
    const account = await createAccount(data)
    const listed = await command(data, ['keys', 'list', '--business', account.businessId, '--json'])
    expect(JSON.parse(listed.stdout)).toHaveLength(4)
    const made = await command(data, [
      'keys',
      'create',
      '--business',
      account.businessId,
      '--service',
      'email',
      '--json',
    ])
    const { id } = JSON.parse(made.stdout)
    expect((await command(data, ['keys', 'revoke', '--business', account.businessId, '--key', id])).code).toBe(0)
    expect((await command(data, ['doctor'])).stdout).toContain('ok    Database: PostgreSQL')
    expect((await command(data, ['audit'])).stdout).toContain('No difference found.')
    expect((await command(data, ['jobs', 'dead'])).stdout).toContain('No job has used up its tries.')
  }, 60_000)

  test('is told in a sentence what is wrong', async () => {
    const wrong = await command(data, ['serve', '--role', 'king'], {
      PORT: '99999',
      PENNYPOST_PUBLIC_URL: 'example.com/x',
      DATABASE_URL: 'mysql://user:hunter2@host/db',
    })
    expect(wrong.code).toBe(1)
    for (const name of [
      'PORT is "99999"',
      'PENNYPOST_PUBLIC_URL is',
      'DATABASE_URL is "(hidden)"',
      'PENNYPOST_ROLE is "king"; expected one of all, api, worker',
    ])
      expect(wrong.stderr).toContain(name)
    expect(wrong.stderr).not.toMatch(/hunter2|\n\s+at /)

    const help = await command(data, ['serve', '--help'])
    expect([help.code, help.stderr, help.stdout]).toEqual([0, '', expect.stringContaining('Usage:')])
    expect((await command(data, ['fly'])).stderr).toContain('There is no command "fly".')
    expect((await command(data, ['keys', 'create', '--nonsense'])).stderr).toContain('Usage:')
    const away = await command(data, ['doctor'], { DATABASE_URL: 'postgres://user:pass@127.0.0.1:1/db' })
    expect(away.stdout + away.stderr).toContain('does not answer')
    expect(away.stdout + away.stderr).not.toMatch(/\n\s+at /)
  })

  test('is told when the port is taken or the data folder is in use', async () => {
    const port = await freePort()
    const blocker = createServer().listen(port, '127.0.0.1')
    const refused = await launch({ data, port })
    expect(await refused.exited).toBe(1)
    expect(refused.output()).toContain(`Port ${port} is taken by another program.`)
    blocker.close()

    await start()
    const second = await launch({ data })
    expect(await second.exited).toBe(1)
    expect(second.output()).toContain('Another copy of Pennypost is already running')
    expect(second.output()).not.toMatch(/\n\s+at /)
  })

  test('is told when a database of their own is not for this copy, and the program ends at once', async () => {
    const name = `program_${newId()}`
    const admin = connect(inject('databaseUrl'), { name: 'test', max: 1 })
    await admin.unsafe(`create database ${name}`)
    const env = { DATABASE_URL: withDatabase(inject('databaseUrl'), name), PENNYPOST_SECRET_KEY: 'ab'.repeat(32) }
    expect((await command(data, ['doctor'], env)).code).toBe(0)

    const refused = async (env: Record<string, string>, sentence: string) => {
      const program = await launch({ data, env })
      running.push(program)
      expect(await program.exited).toBe(1)
      expect(program.output()).toContain(sentence)
      expect(program.output()).not.toMatch(/\n\s+at /)
    }
    await refused({ ...env, PENNYPOST_SECRET_KEY: 'cd'.repeat(32) }, 'is not the key this database was first used with')
    await admin.unsafe(`alter database ${name} set default_transaction_read_only = on`)
    await refused(env, 'must be allowed to make tables')
    await admin.unsafe(`alter database ${name} reset default_transaction_read_only`)
    const own = connect(env.DATABASE_URL, { name: 'test', max: 1 })
    await own`insert into migration (name) values ('9999-later.sql')`
    await own.end()
    await refused(env, 'was migrated by a newer Pennypost')
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.end()
  }, 30_000)

  test('can stop it while it starts, and nothing runs on', async () => {
    const program = await launch({ data })
    running.push(program)
    const serverRuns = () => existsSync(join(data, 'postgres/postmaster.pid'))
    await expect.poll(serverRuns, { timeout: 30_000 }).toBe(true)
    expect(await program.stop()).toBe(0)
    expect(serverRuns()).toBe(false)
  }, 60_000)

  test('may be an ordinary user', async () => {
    if (process.getuid?.() === 0) {
      const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+)/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
      await chown(data, Number(uid), Number(gid))
      await chmod(data, 0o700)
      const program = await start({ uid: Number(uid), gid: Number(gid) })
      expect((await fetch(`${program.url}/ready`)).status).toBe(200)
    } else {
      const program = await start()
      expect((await fetch(`${program.url}/ready`)).status).toBe(200)
    }
  })
})

describe('what was accepted survives', () => {
  test('kill -9 of the program', async () => {
    const first = await start()
    const account = await createAccount(data)
    await first.kill()
    const second = await start()
    expect((await readBusiness(second, account)).status).toBe(200)
  })

  test('a database that hangs, and the program says that it is not ready', async () => {
    const program = await start()
    const [pid = ''] = readFileSync(join(data, 'postgres/postmaster.pid'), 'utf8').split('\n')
    const ready = async () => (await fetch(`${program.url}/ready`)).status
    const sessions = execFileSync('pgrep', ['-P', pid], { encoding: 'utf8' }).trim().split('\n').map(Number)
    const all = [Number(pid), ...sessions]
    try {
      for (const one of all) process.kill(one, 'SIGSTOP')
      expect(await ready()).toBe(503)
    } finally {
      for (const one of all) process.kill(one, 'SIGCONT')
    }
    await expect.poll(ready).toBe(200)
  })

  test('kill -9 of the database under a running program', async () => {
    const program = await start()
    const account = await createAccount(data)
    expect((await readBusiness(program, account)).status).toBe(200)
    execFileSync('pkill', ['-9', '-f', `postgres.*${data}`])
    await expect
      .poll(async () => (await readBusiness(program, account)).status, { timeout: 20_000, interval: 50 })
      .toBe(200)
    // While it was away, every answer was the failure body and none a crash.
    expect(program.child.exitCode).toBeNull()
  })
})

describe('several processes', () => {
  test('share the port, and a dead one is replaced', async () => {
    const program = await start({ args: ['--processes', '2'] })
    const account = await createAccount(data)
    const children = () =>
      execFileSync('pgrep', ['-P', String(program.child.pid), '-f', 'bin/pennypost serve'], { encoding: 'utf8' })
        .trim()
        .split('\n')
    const before = children()
    expect(before).toHaveLength(2)
    expect((await fetch(`${program.url}/metrics`)).status).toBe(200)
    process.kill(Number(before[0]), 'SIGKILL')
    await expect.poll(() => children().filter(pid => !before.includes(pid)).length, { timeout: 20_000 }).toBe(1)
    await expect.poll(async () => (await readBusiness(program, account)).status, { timeout: 10_000 }).toBe(200)
    expect(await program.stop()).toBe(0)
  }, 60_000)
})
