import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** Node strips no types below node_modules, where `npm install pennypost` puts the program. */
test('an installed copy runs, with its threads', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pennypost-installed-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const installed = join(folder, 'node_modules', 'pennypost')
  for (const part of ['bin', 'src', 'migrations', 'scripts', 'package.json'])
    await cp(join(root, part), join(installed, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(installed, 'node_modules'))
  const run = async (file: string, args: string[]) => (await promisify(execFile)(file, args)).stdout
  expect(await run(join(installed, 'bin', 'pennypost'), ['help'])).toContain('Usage: pennypost')
  const thread = join(installed, 'src', 'email', 'delivery', 'markup-thread.ts')
  const script = join(folder, 'render.mjs')
  await writeFile(
    script,
    `import { renderOnThread } from ${JSON.stringify(thread)}
    const alive = setInterval(() => {}, 1_000)
    console.log((await renderOnThread('<mjml><mj-body></mj-body></mjml>')).html)
    clearInterval(alive)`,
  )
  const stripTypes = ['--import', join(installed, 'bin', 'strip-types.mjs')]
  expect(await run(process.execPath, [...stripTypes, script])).toContain('<body')
})
