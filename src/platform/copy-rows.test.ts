import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type World, world } from '../../test/world.ts'
import { CopyRows } from './copy-rows.ts'

let w: World
beforeAll(async () => {
  w = await world()
  await w.db`create table copied (n int, word text, at timestamptz, day date, numbers int[], object jsonb, bytes bytea, flags bit(16))`
  await w.db`create table named (name text primary key deferrable initially immediate)`
})
afterAll(() => w.close())

const text = fc.string({ unit: fc.constantFrom('a', 'Z', '\t', '\\', '\n', '"', 'é', '語', '😀') })
const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const date = fc.date({ min: new Date('0100-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
const bytes = fc.uint8Array({ minLength: 2, maxLength: 2 }).map(array => Buffer.from(array))
const row = fc.record({
  word: fc.option(text),
  at: date,
  day: date.map(day => day.toISOString().slice(0, 10)),
  numbers: fc.array(int, { maxLength: 4 }),
  object: fc.dictionary(fc.constantFrom('a', 'B', 'é', '語', '😀'), fc.oneof(text, int, fc.boolean())),
  bytes,
  flags: bytes,
})

test('what is copied is what was meant, in every type, and a small start grows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 30 }), async rows => {
      await w.db`truncate copied`
      const shared = new CopyRows(0)
      shared.int(-7)
      const copy = new CopyRows(8, 1)
      for (const one of rows) {
        copy.begin()
        copy.cells(shared)
        if (one.word === null) copy.null()
        else copy.text(one.word)
        copy.moment(one.at)
        copy.date(one.day)
        copy.ints(one.numbers)
        copy.jsonb(one.object)
        copy.bytea(one.bytes)
        copy.bits(one.flags)
      }
      // Sent twice, as by a transaction that is tried again.
      for (let time = 0; time < 2; time++) {
        await w.db`truncate copied`
        await copy.sendTo(w.db`copy copied from stdin (format binary)`)
      }
      const found = await w.db`select n, word, at, day, numbers, object, bytes, flags::text from copied order by ctid`
      const bits = (value: Buffer) => [...value].map(byte => byte.toString(2).padStart(8, '0')).join('')
      expect([...found]).toEqual(rows.map(one => ({ n: -7, ...one, flags: bits(one.flags) })))
    }),
    { numRuns: 30 },
  )
})

test('an error is told, whether it comes while rows are sent or after the last of them', async () => {
  for (const size of [2, 50_000]) {
    const copy = new CopyRows(1)
    for (let i = 0; i < size; i++) {
      copy.begin()
      copy.text(`name ${i === size - 1 ? 0 : i}`)
    }
    for (let time = 0; time < 3; time++) {
      const sent = w.db.begin(tx => copy.sendTo(tx`copy named from stdin (format binary)`))
      await expect(sent).rejects.toMatchObject({ code: '23505' })
      expect(await w.db`select * from named`).toEqual([])
    }
  }
})
