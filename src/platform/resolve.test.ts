import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { createResolve } from './resolve.ts'

const cleanups: (() => unknown)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

/** A name server that knows some IPv4 addresses, says "no such name" for others, and keeps silent about *.dead.test. */
async function nameServer(names: Record<string, string>): Promise<string> {
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => {
    const labels: string[] = []
    let at = 12
    for (; question[at]; at += question[at]! + 1)
      labels.push(question.toString('latin1', at + 1, at + 1 + question[at]!))
    const name = labels.join('.').toLowerCase()
    if (name.endsWith('dead.test')) return
    const end = at + 5
    const address = question.readUInt16BE(at + 1) === 1 ? names[name] : undefined
    const header = Buffer.from(question.subarray(0, 12))
    header.writeUInt16BE(name in names ? 0x8180 : 0x8183, 2)
    header.writeUInt16BE(address ? 1 : 0, 6)
    header.writeUInt32BE(0, 8)
    const answer = address ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)] : []
    socket.send(Buffer.concat([header, question.subarray(12, end), Buffer.from(answer)]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  cleanups.push(() => socket.close())
  return `127.0.0.1:${socket.address().port}`
}

test('a name is found by DNS, and by the system where DNS does not know it', async () => {
  const asked: string[] = []
  const system = async (name: string) => {
    asked.push(name)
    return name === 'neighbour' || name === 'hosts.file.test' ? ['10.0.0.1'] : Promise.reject(new Error('not found'))
  }
  const resolve = createResolve({ servers: [await nameServer({ 'live.test': '192.0.43.7' })], system })
  expect(await resolve('live.test')).toEqual(['192.0.43.7'])
  expect(asked).toEqual([])
  expect(await resolve('neighbour')).toEqual(['10.0.0.1'])
  expect(await resolve('hosts.file.test')).toEqual(['10.0.0.1'])
  await expect(resolve('nowhere.test')).rejects.toThrow('not found')
})

test('names whose servers are dead hold up no other', async () => {
  let free = () => {}
  const stuck = new Promise<void>(resolve => {
    free = resolve
  })
  let atOnce = 0
  const system = async () => {
    atOnce++
    await stuck
    return []
  }
  const resolve = createResolve({ servers: [await nameServer({ 'live.test': '192.0.43.7' })], system })
  const dead = Array.from({ length: 50 }, (_, i) => resolve(`nowhere-${i}.test`))
  await expect.poll(() => atOnce).toBe(2)
  expect(await resolve('live.test')).toEqual(['192.0.43.7'])
  const silent = Array.from({ length: 50 }, (_, i) => resolve(`${i}.dead.test`))
  expect(await resolve('live.test')).toEqual(['192.0.43.7'])
  free()
  await Promise.all(dead)
  expect(atOnce).toBe(50)
  cleanups.push(() => Promise.allSettled(silent))
})
