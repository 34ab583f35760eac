import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from './data-folder.ts'
import type { Pool } from './database.ts'

const folder = join(import.meta.dirname, '../../migrations')
const lockKey = 842_008_420

export interface MigrationReport {
  applied: string[]
}

/** Applies what is missing, in order, each in a transaction of its own; copies that start together wait for one another. */
export async function migrate(pool: Pool, onProgress: (text: string) => void = () => {}): Promise<MigrationReport> {
  const files = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  const session = await pool.reserve()
  try {
    await session`select pg_advisory_lock(${lockKey})`
    await session`create table if not exists migration (name text primary key, applied_at timestamptz not null default now())`
    const done = new Set((await session<{ name: string }[]>`select name from migration`).map(row => row.name))
    const newer = [...done].filter(name => !files.includes(name))
    if (newer.length > 0)
      throw new StartError(`The database was migrated by a newer Pennypost (${newer.join(', ')}). Start that version.`)
    const missing = files.filter(name => !done.has(name))
    for (const name of missing) {
      onProgress(`Migrating: ${name}`)
      await applyMigration(session, name)
    }
    return { applied: missing }
  } finally {
    await session`select pg_advisory_unlock(${lockKey})`.catch(() => {})
    session.release()
  }
}

async function applyMigration(session: Awaited<ReturnType<Pool['reserve']>>, name: string): Promise<void> {
  const text = await readFile(join(folder, name), 'utf8')
  const quoted = name.replaceAll("'", "''")
  await session
    .unsafe(
      `begin; set local statement_timeout = 0;\n${text}\n; insert into migration (name) values ('${quoted}'); commit;`,
    )
    .catch(async error => {
      await session.unsafe('rollback')
      throw error
    })
}
