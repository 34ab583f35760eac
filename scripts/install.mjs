// Installs what is missing, and only then: runs on any Node from 20, before the pinned one is there.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

const read = path => {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8')).packages
  } catch {
    return undefined
  }
}

/** Compares what the lock file asks for with npm's own record of what is installed. */
export function isInstalled({ tests }) {
  const wanted = read('package-lock.json')
  const present = read('node_modules/.package-lock.json')
  if (!wanted || !present) return !wanted
  return Object.entries(wanted).every(([name, entry]) => {
    if (name === '' || entry.link || entry.optional || entry.devOptional || (entry.dev && !tests)) return true
    return present[name]?.version === entry.version
  })
}

export function install({ tests }) {
  if (isInstalled({ tests })) return
  console.log('Installing what Pennypost needs; this takes about a minute, once…')
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error', ...(tests ? ['--include=dev'] : ['--omit=dev'])]
  const { status, error } = spawnSync('npm', args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) {
    console.error(
      error ? `npm could not be started: ${error.message}` : 'Installing failed; what npm says above tells why.',
    )
    process.exit(1)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install({ tests: process.argv.includes('--tests') })
