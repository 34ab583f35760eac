import { type Command, UsageError } from './command.ts'

const jobId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

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
    const wrong = ids.find(id => !jobId.test(id))
    if (wrong !== undefined) throw new UsageError(`${wrong} is not the id of a job; \`jobs dead\` shows them.`)
    const count = await withHouse(({ platform }) => platform.jobs.retryDeadLetters(ids.length > 0 ? ids : undefined))
    print(`${count} ${count === 1 ? 'job goes' : 'jobs go'} back to work.`)
  },
}
