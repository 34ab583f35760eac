import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type World, world } from '../world.ts'
import { audit, complete, countingSink, endAll, launch, startWorkers } from './email-campaign.ts'

/**
 * Real worker processes, a real database and a real SMTP server, and what goes wrong in the night: whatever happens,
 * every recipient ends in exactly one final state, nobody is lost, and only what was in flight may arrive twice, with
 * the same Message-ID.
 */

let house: World
beforeAll(async () => {
  house = await world()
})
afterAll(() => house.close())
afterEach(endAll)

describe('a campaign', () => {
  test('of 20,000 survives workers that are killed in the middle of it', { timeout: 120_000 }, async () => {
    const people = 20_000
    const connections = 10
    const kills = 5
    const workers = startWorkers(house, kills + 1)
    const { sink, arrivals, total } = await countingSink()
    const launched = await launch(house, await house.business(), { people, port: sink.port, connections })
    for (const [i, worker] of workers.slice(0, kills).entries()) {
      await worker.go()
      const goal = (people * (i + 1)) / (kills + 2)
      await expect.poll(total, { timeout: 30_000, interval: 5 }).toBeGreaterThan(goal + Math.random() * 500)
      await worker.end('SIGKILL')
    }
    await workers.at(-1)?.go()
    await complete(house, launched, 60_000)
    await workers.at(-1)?.end('SIGTERM')
    const { count } = await audit(house, launched, people, arrivals)
    expect(count('sent')).toBe(people)
    expect(arrivals.size).toBe(people)
    const twice = total() - people
    console.log(`${kills} kills, ${twice} messages arrived twice (at most ${kills * connections} were in flight)`)
    expect(twice).toBeLessThanOrEqual(kills * connections)
  })

  test('is stopped by SIGTERM without loss or doubles, and goes on with several workers', {
    timeout: 60_000,
  }, async () => {
    const people = 12_000
    const pairs = [startWorkers(house, 2), startWorkers(house, 2), startWorkers(house, 2)] as const
    const { sink, arrivals, total } = await countingSink()
    const launched = await launch(house, await house.business(), { people, port: sink.port })
    for (const [i, goal] of [500, 3_000].entries()) {
      const workers = pairs[i] ?? []
      await Promise.all(workers.map(worker => worker.go()))
      await expect.poll(total, { timeout: 30_000, interval: 5 }).toBeGreaterThan(goal)
      expect(await Promise.all(workers.map(worker => worker.end('SIGTERM')))).toEqual([0, 0])
      expect(total()).toBeLessThan(people)
    }
    await Promise.all(pairs[2].map(worker => worker.go()))
    await complete(house, launched, 30_000)
    await Promise.all(pairs[2].map(worker => worker.end('SIGTERM')))
    await audit(house, launched, people, arrivals)
    expect(total()).toBe(people)
  })

  test('bears a server that greylists, drops, stalls and says 421 above a rate', { timeout: 90_000 }, async () => {
    const people = 2_000
    const greylisted = new Set<string>()
    const number = (to: string) => Number(to.slice(1, to.indexOf('@')))
    let second = 0
    let thisSecond = 0
    const { sink, arrivals, total } = await countingSink({
      at(stage, { to }) {
        const n = number(to)
        if (stage === 'mail') {
          const present = Math.floor(Date.now() / 1000)
          thisSecond = present === second ? thisSecond + 1 : 1
          second = present
          if (thisSecond > 400) return { reply: '421 4.7.0 too fast', drop: true }
        }
        if (stage === 'rcpt' && n % 5 === 0 && !greylisted.has(to)) {
          greylisted.add(to)
          return { reply: '451 4.7.1 greylisted, try again later' }
        }
        if (stage === 'end' && n % 400 === 1) return { drop: true }
        if (stage === 'end' && n % 400 === 2) return { drop: true, accept: true }
        if (stage === 'end' && n % 100 === 3) return { stallMs: 300 }
        return undefined
      },
    })
    const workers = startWorkers(house, 2, '500')
    const launched = await launch(house, await house.business(), { people, port: sink.port })
    await Promise.all(workers.map(worker => worker.go()))
    await complete(house, launched, 80_000)
    await Promise.all(workers.map(worker => worker.end('SIGTERM')))
    const { count, rows } = await audit(house, launched, people, arrivals)
    // Who was cut off after the end dot is known to be unknown, and was not mailed again.
    expect(
      rows
        .filter(row => row.state === 'unknown')
        .map(row => number(row.email) % 400)
        .sort(),
    ).toEqual([...Array(5).fill(1), ...Array(5).fill(2)])
    expect(count('sent')).toBe(people - 10)
    expect(total()).toBe(people - 5)
  })
})
