import { statfs } from 'node:fs/promises'
import { resolve } from 'node:path'
import { describeDatabase } from '../accounts/store.ts'
import { type Command, type Console, UsageError } from './command.ts'
import { doctorEmail } from './doctor-email.ts'

interface Check {
  name: string
  run(): Promise<string>
}

/** Looks at what a program like this usually lacks, and says it in words. */
export const doctorCommand: Command = {
  usage: 'doctor | doctor email --sender ADDRESS [--business ID] [--selector S]',
  async run({ args, config, print, withHouse }) {
    if (args[0] === 'email') return lookAtEmail(args.slice(1), { print, withHouse })
    if (args.length > 0) throw new UsageError('Expected: doctor or doctor email')
    let failed = 0
    const look = async ({ name, run }: Check) => {
      try {
        print(`ok    ${name}: ${await run()}`)
      } catch (error) {
        failed++
        print(`WRONG ${name}: ${(error as Error).message}`)
      }
    }
    await look({ name: 'Node', run: async () => process.versions.node })
    await look({
      name: 'Settings',
      run: async () => `public URL ${config.publicUrl}, services ${config.services.join(', ')}`,
    })
    await look({ name: 'Disk', run: () => freeDisk(config.dataFolder) })
    await withHouse(async ({ platform, ground }) => {
      await look({
        name: 'Database',
        run: async () => {
          const { version } = await describeDatabase(platform.db)
          return `PostgreSQL ${version}, ${ground.embedded ? 'embedded' : 'by DATABASE_URL'}`
        },
      })
      await look({
        name: 'Clock',
        run: async () => {
          const { now } = await describeDatabase(platform.db)
          const driftMs = Math.abs(Date.now() - now.getTime())
          if (driftMs > 2_000)
            throw new Error(
              `this machine and the database differ by ${Math.round(driftMs / 1000)} s; let both follow a time server`,
            )
          return 'agrees with the database'
        },
      })
      await look({
        name: 'Jobs',
        run: async () => {
          const dead = await platform.jobs.deadLetters(1_000)
          if (dead.length > 0)
            throw new Error(
              `${dead.length} used up their tries; look with \`pennypost jobs dead\`, put back with \`pennypost jobs retry\``,
            )
          return 'none failed for good'
        },
      })
    }).catch(error => {
      failed++
      print(`WRONG Database: ${(error as Error).message}`)
    })
    if (!config.secretKey && config.databaseUrl)
      print(
        'note  Set PENNYPOST_SECRET_KEY to the same value in every copy; this one reads secret.key in its data folder.',
      )
    if (failed > 0) process.exitCode = 1
  },
}

const marks = { ok: 'ok    ', advice: 'note  ', fault: 'WRONG ' } as const

async function lookAtEmail(args: string[], { print, withHouse }: Pick<Console, 'print' | 'withHouse'>): Promise<void> {
  const findings = await withHouse(({ platform }) => doctorEmail(platform, args))
  for (const { level, text } of findings) print(marks[level] + text)
  if (findings.some(finding => finding.level === 'fault')) process.exitCode = 1
}

async function freeDisk(folder: string): Promise<string> {
  const { bavail, bsize } = await statfs(resolve(folder)).catch(() => statfs('.'))
  const gigabytes = (bavail * bsize) / 1024 ** 3
  if (gigabytes < 1) throw new Error(`only ${gigabytes.toFixed(1)} GB are free where the data is`)
  return `${gigabytes.toFixed(0)} GB free`
}
