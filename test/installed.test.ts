import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** Node strips no types below node_modules, where `npm install pennypost` puts the program. */
test('an installed copy runs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pennypost-installed-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const installed = join(folder, 'node_modules', 'pennypost')
  for (const part of ['bin', 'src', 'migrations', 'scripts', 'package.json'])
    await cp(join(root, part), join(installed, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(installed, 'node_modules'))
  const { stdout } = await promisify(execFile)(join(installed, 'bin', 'pennypost'), ['help'])
  expect(stdout).toContain('Usage: pennypost')
})
