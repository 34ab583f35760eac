import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { mends } from './mend-driver.ts'

const root = join(import.meta.dirname, '../..')

test('each mend finds its place in the driver, once', async () => {
  for (const { file, from } of mends) {
    const source = await readFile(join(root, 'node_modules', file), 'utf8')
    expect(source.split(from), file).toHaveLength(2)
  }
})

/** As the program loads it, in a process of its own. */
const inProgram = async (script: string) => {
  const hook = join(root, 'src/platform/mend-driver.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', hook, '--eval', script], { cwd: root })
  return JSON.parse(stdout)
}

test('a query has no functions of its own, and is settled as before', async () => {
  const seen = await inProgram(`
    const { default: postgres } = await import('postgres')
    const query = postgres({ host: '/nowhere' })\`select 1\`
    query.active = true
    query.resolve('answered')
    console.log(JSON.stringify({ own: Object.hasOwn(query, 'resolve'), active: query.active }))`)
  expect(seen).toEqual({ own: false, active: false })
})

test('a queue that never runs empty keeps its order and forgets what it handed out', async () => {
  const seen = await inProgram(`
    const { default: Queue } = await import(${JSON.stringify(join(root, 'node_modules/postgres/src/queue.js'))})
    const queue = Queue([0, 1, 2])
    let longest = 0
    const { push } = Array.prototype
    Array.prototype.push = function (x) { longest = Math.max(longest, this.length); return push.call(this, x) }
    let inOrder = true
    for (let i = 0; i < 10000; i++) {
      inOrder &&= queue.shift() === i
      queue.push(i + 3)
    }
    Array.prototype.push = push
    console.log(JSON.stringify({ inOrder, left: queue.length, removed: queue.remove(10001), after: queue.length, short: longest < 200 }))`)
  expect(seen).toEqual({ inOrder: true, left: 3, removed: 10_001, after: 2, short: true })
})
