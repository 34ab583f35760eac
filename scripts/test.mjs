// `npm test`: format, lint, types, then every test; arguments choose test files: npm test -- src/chat
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const filters = process.argv.slice(2)
const run = (command, args, options = {}) => spawnSync(command, args, { stdio: 'inherit', ...options }).status ?? 1

const browserPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
if (filters.length === 0) {
  if (run('biome', ['check', '--error-on-warnings', '.']) !== 0) process.exit(1)
  if (run('tsc', []) !== 0) process.exit(1)
  installBrowser()
}

const folder = mkdtempSync(join(tmpdir(), 'pennypost-results-'))
const results = join(folder, 'results.json')
const status = run('vitest', [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${results}`,
  ...filters,
])
if (existsSync(results)) {
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(results, 'utf8'))
  console.log(`Tests: ${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`)
}
rmSync(folder, { recursive: true, force: true })
process.exit(status)

/** The pages are tested in a real browser; on a bare Debian machine it comes from the system's packages. */
function installBrowser() {
  if (process.env.PENNYPOST_CHROMIUM || browserPaths.some(path => existsSync(path))) return
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    console.error('The browser tests need Chromium: install it, or name it in PENNYPOST_CHROMIUM.')
    process.exit(1)
  }
  console.log('Installing Chromium for the browser tests…')
  const quiet = { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  run('apt-get', ['update', '-qq'], quiet)
  if (run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], quiet) !== 0) process.exit(1)
}
