import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { claimDataFolder, openDataFolder } from '../src/platform/data-folder.ts'
import { connect } from '../src/platform/database.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { buildTemplate, templateName } from './template.ts'

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string
  }
}

/** One server a run, migrated once into a template; each file clones it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const path = await mkdtemp(join(tmpdir(), 'pennypost-test-'))
  const folder = await openDataFolder(path)
  const release = await claimDataFolder(folder)
  const server = await startEmbeddedPostgres(folder, { durable: false, maxConnections: 300 })
  const admin = connect(server.url, { name: 'test setup', max: 1 })
  await admin.unsafe(`create database ${templateName}`)
  await admin.end()
  await buildTemplate(withDatabase(server.url, templateName))
  project.provide('databaseUrl', server.url)
  return async () => {
    await server.stop()
    await release()
    await rm(path, { recursive: true, force: true })
  }
}

export function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.toString()
}
