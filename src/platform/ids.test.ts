import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { isId, newId, newIds } from './ids.ts'

afterEach(() => {
  vi.useRealTimers()
})

const secondOf = (id: string) => Number.parseInt(id.slice(0, 8), 16)
const counterOf = (id: string) => Number.parseInt(id.slice(18), 16)

test('an id is 24 lower-case hex characters that begin with the second', () => {
  const before = Math.floor(Date.now() / 1000)
  const id = newId()
  expect(id).toMatch(/^[0-9a-f]{24}$/)
  expect(secondOf(id)).toBeGreaterThanOrEqual(before)
  expect(secondOf(id)).toBeLessThanOrEqual(Math.floor(Date.now() / 1000) + 1)
})

test('ids made one by one and in bulk are different and in order', () => {
  const ids = [newId(), ...newIds(50_000), newId(), ...newIds(0), newId()]
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids.map(id => id.slice(8, 18))).size).toBe(1)
})

test('a counter that wraps moves on to the next second, so no id repeats and the order holds', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.resetModules()
  vi.doMock('node:crypto', async original => ({ ...(await original<object>()), randomInt: () => 0xfffffd }))
  const nearItsEnd = await import('./ids.ts')
  vi.doUnmock('node:crypto')
  const now = Math.floor(Date.now() / 1000)
  const ids = [...nearItsEnd.newIds(5), nearItsEnd.newId()]
  expect(ids.map(counterOf)).toEqual([0xfffffd, 0xfffffe, 0xffffff, 0, 1, 2])
  expect(ids.map(secondOf)).toEqual([now, now, now, now + 1, now + 1, now + 1])
  vi.setSystemTime(Date.now() + 1000)
  ids.push(nearItsEnd.newId())
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test('a clock set back does not bring back old seconds', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(Date.now() + 5_000)
  const later = newId()
  vi.setSystemTime(Date.now() - 3_600_000)
  expect(newId() > later).toBe(true)
})

test('threads have random parts of their own', async () => {
  const source = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(new URL('./ids.ts', import.meta.url).href)}).then(ids => parentPort.postMessage(ids.newId()))`
  const fromThread = () =>
    new Promise<string>((resolve, reject) => {
      new Worker(source, { eval: true }).once('message', resolve).once('error', reject)
    })
  const ids = [newId(), ...(await Promise.all([fromThread(), fromThread()]))]
  expect(ids.every(isId)).toBe(true)
  expect(new Set(ids.map(id => id.slice(8, 18))).size).toBe(3)
})

test('only 24 lower-case hex characters are an id', () => {
  expect(isId('6650a1b2c3d4e5f6a7b8c9d0')).toBe(true)
  expect(isId('6650A1B2C3D4E5F6A7B8C9D0')).toBe(false)
  expect(isId('6650a1b2c3d4e5f6a7b8c9d0\n')).toBe(false)
  expect(isId('6650a1b2c3d4e5f6a7b8c9d')).toBe(false)
  expect(isId('6650a1b2c3d4e5f6a7b8c9d01')).toBe(false)
  expect(isId('')).toBe(false)
  fc.assert(fc.property(fc.string(), text => isId(text) === /^[0-9a-f]{24}$/.test(text)))
})
