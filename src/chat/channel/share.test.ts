import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../../test/world.ts'
import { newId } from '../../platform/ids.ts'
import { createShares } from './share.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.close())

/** A process with a clock of its own. */
function sender() {
  let now = 0
  const shares = createShares(w.platform, () => now)
  return {
    /** asks so often within a second, then lets the second pass */
    async second(setting: { businessId: string; id: string }, messages: number) {
      for (let i = 1; i < messages; i++) shares.of(setting)
      now += 1_000
      const share = shares.of(setting)
      await shares.settled(setting.id)
      return share
    },
  }
}

test('alone, a process has the whole number', async () => {
  const setting = { businessId: newId(), id: newId() }
  const only = sender()
  await only.second(setting, 5)
  expect(await only.second(setting, 5)).toBe(1)
})

test('several share by what they are asked for, never more than the whole, and follow its change', async () => {
  const setting = { businessId: newId(), id: newId() }
  const senders = [sender(), sender(), sender()]
  const round = async (asked: number[]) => {
    const shares = []
    for (const [i, one] of senders.entries()) shares.push(await one.second(setting, asked[i]!))
    return shares
  }
  for (let i = 0; i < 3; i++) await round([30, 60, 10])
  const steady = await round([30, 60, 10])
  expect(steady.map(share => Math.round(share * 10))).toEqual([3, 6, 1])
  expect(steady.reduce((sum, share) => sum + share)).toBeCloseTo(1)
  for (let i = 0; i < 3; i++) await round([30, 10, 60])
  expect((await round([30, 10, 60])).map(share => Math.round(share * 10))).toEqual([3, 1, 6])
  const other = { businessId: setting.businessId, id: newId() }
  await senders[0]!.second(other, 1)
  expect(await senders[0]!.second(other, 1)).toBe(1)
})

test('who fell silent gives its part back', async () => {
  const setting = { businessId: newId(), id: newId() }
  const [stays, goes] = [sender(), sender()]
  await goes.second(setting, 10)
  await stays.second(setting, 10)
  expect(await stays.second(setting, 10)).toBe(0.5)
  await w.db`update chat_pace set until = now() where business_id = ${setting.businessId}`
  await stays.second(setting, 10)
  expect(await stays.second(setting, 10)).toBe(1)
})
