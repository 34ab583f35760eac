import { parseArgs } from 'node:util'
import { allBusinessIds } from '../accounts/store.ts'
import { type Command, requireBusiness, UsageError } from './command.ts'

/** Recounts what is kept as a running total and checks what must always hold; finds fault, never mends in silence. */
export const auditCommand: Command = {
  usage: 'audit [email|chat|billing] [--business ID]',
  async run({ args, print, withHouse }) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { business: { type: 'string' } },
    })
    const differences = await withHouse(async ({ platform, services }) => {
      const chosen = services.filter(service => positionals.length === 0 || positionals.includes(service.name))
      if (chosen.length === 0) throw new UsageError('Expected: audit email, audit chat or audit billing')
      const businesses = values.business
        ? [(await requireBusiness(platform.db, values.business)).id]
        : await allBusinessIds(platform.db)
      const found: string[] = []
      for (const businessId of businesses)
        for (const service of chosen)
          found.push(
            ...(await service.audit(platform, businessId)).map(text => `${businessId} ${service.name}: ${text}`),
          )
      return found
    })
    for (const difference of differences) print(difference)
    print(differences.length === 0 ? 'No difference found.' : `${differences.length} differences found.`)
    if (differences.length > 0) process.exitCode = 1
  },
}
