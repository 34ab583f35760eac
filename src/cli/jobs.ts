import { type Command, UsageError } from './command.ts'

export const jobsCommand: Command = {
  usage: 'jobs dead | jobs retry [ID …]',
  async run({ args, print, withHouse }) {
    const [action, ...ids] = args
    if (action === 'dead') {
      const letters = await withHouse(({ platform }) => platform.jobs.deadLetters())
      if (letters.length === 0) return print('No job has used up its tries.')
      for (const letter of letters)
        print(
          `${letter.id}  ${letter.failedAt.toISOString()}  ${letter.queue}  ${letter.error}\n  ${JSON.stringify(letter.data)}`,
        )
      return
    }
    if (action !== 'retry') throw new UsageError('Expected: jobs dead or jobs retry')
    const count = await withHouse(({ platform }) => platform.jobs.retryDeadLetters(ids.length > 0 ? ids : undefined))
    print(`${count} ${count === 1 ? 'job goes' : 'jobs go'} back to work.`)
  },
}
