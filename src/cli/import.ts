import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { importProgress, runImport, startImport } from '../email/import/import.ts'
import type { Platform } from '../platform/platform.ts'
import { type Command, requireBusiness, UsageError } from './command.ts'

/** Imports a file of this machine and waits until it is done. Killed meanwhile, a running copy of the program goes on with it. */
export const importCommand: Command = {
  usage: 'import FILE.csv --business ID [--lists A,B] [--tags x,y]',
  run: ({ args, print, withHouse }) => withHouse(house => importFile(house.platform, args, print)),
}

export async function importFile(platform: Platform, args: string[], print: (text: string) => void): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { business: { type: 'string' }, lists: { type: 'string' }, tags: { type: 'string' } },
  })
  const [path] = positionals
  if (!path || positionals.length > 1) throw new UsageError('Name one CSV file.')
  if (!(await stat(path).catch(() => undefined))?.isFile()) throw new UsageError(`There is no file ${path}.`)
  if (!values.business) throw new UsageError('--business must be the id of a business.')
  const business = await requireBusiness(platform.db, values.business)
  const names = (text = '') =>
    text
      .split(',')
      .map(name => name.trim())
      .filter(name => name !== '')
  const file = createReadStream(path, { highWaterMark: 1_048_576 })
  const options = { lists: names(values.lists), tags: names(values.tags) }
  const { id } = await startImport(platform, platform.db, business, file, options)
  while (await runImport(platform, business, id, { turnMs: 2_000 }))
    print((await importProgress(platform.db, business.id, id)).line)
  const { line, refusals } = await importProgress(platform.db, business.id, id)
  print(line)
  for (const refusal of refusals) print(`  line ${refusal.line} (${refusal.email || 'no email'}): ${refusal.reason}`)
}
