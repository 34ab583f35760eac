import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import {
  claimDataFolder,
  isDataFolderClaimed,
  openDataFolder,
  readMasterKey,
  StartError,
  shortFolder,
} from './data-folder.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function temporaryFolder(): Promise<string> {
  const path = await mkdtemp('/tmp/pp-test-')
  cleanups.push(() => rm(path, { recursive: true, force: true }))
  return path
}

const isRoot = process.getuid?.() === 0
const modeOf = async (path: string) => (await stat(path)).mode & 0o777
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('it was not refused'),
    error => {
      expect(error).toBeInstanceOf(StartError)
      return (error as Error).message
    },
  )

/** A program of its own that claims a folder and says so. */
async function startOwner(path: string) {
  const script = `
    import { claimDataFolder, openDataFolder } from ${JSON.stringify(new URL('./data-folder.ts', import.meta.url).href)}
    await claimDataFolder(await openDataFolder(${JSON.stringify(path)}))
    console.log('claimed')
    setInterval(() => {}, 1000)`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  cleanups.push(() => owner.kill('SIGKILL'))
  await once(owner.stdout, 'data')
  return owner
}

test('a missing folder is made, with those above it, closed to others', async () => {
  const path = join(await temporaryFolder(), 'a/b')
  expect(await openDataFolder(path)).toEqual({ path })
  expect(await modeOf(path)).toBe(isRoot ? 0o711 : 0o700)
  expect(await modeOf(join(path, '..'))).toBe(isRoot ? 0o711 : 0o700)
})

test('as root an empty folder lets the database user pass, and one that holds something else stays closed', async () => {
  const path = await temporaryFolder()
  const [empty, used] = [join(path, 'empty'), join(path, 'used')]
  for (const each of [empty, used]) await mkdir(each, { mode: 0o700 })
  await writeFile(join(used, 'letters'), '')
  await openDataFolder(empty)
  await openDataFolder(used)
  expect(await modeOf(empty)).toBe(isRoot ? 0o711 : 0o700)
  expect(await modeOf(used)).toBe(0o700)
  await chmod(empty, 0o700)
  await openDataFolder(empty)
  expect(await modeOf(empty)).toBe(isRoot ? 0o711 : 0o700)
})

test('a file in the place of the folder is named', async () => {
  const path = join(await temporaryFolder(), 'data')
  await writeFile(path, '')
  const inside = join(path, 'inside')
  expect(await refusal(openDataFolder(path))).toBe(`The data folder ${path} cannot be used: a file is in its place.`)
  expect(await refusal(openDataFolder(inside))).toBe(
    `The data folder ${inside} cannot be used: a file is in its place.`,
  )
})

test('a folder that may not be written is named', async () => {
  // Root may write everywhere but to /proc.
  const path = isRoot ? '/proc/pennypost' : '/pennypost'
  expect(await refusal(openDataFolder(path))).toContain(`The data folder ${path} cannot be used: `)
})

test('the master key is made once, whoever asks first, and only its owner may read it', async () => {
  const folder = await openDataFolder(await temporaryFolder())
  const keys = await Promise.all(Array.from({ length: 20 }, () => readMasterKey(folder)))
  expect(keys[0]).toHaveLength(32)
  for (const key of keys) expect(key.equals(keys[0]!)).toBe(true)
  expect((await readMasterKey(folder)).equals(keys[0]!)).toBe(true)
  expect(await modeOf(join(folder.path, 'secret.key'))).toBe(0o600)
  expect((await readdir(folder.path)).sort()).toEqual(['pennypost-data', 'secret.key'])
})

test('a damaged master key is refused and left as it is', async () => {
  const folder = await openDataFolder(await temporaryFolder())
  const path = join(folder.path, 'secret.key')
  await writeFile(path, 'abc')
  expect(await refusal(readMasterKey(folder))).toContain(`The file ${path} is damaged`)
  expect(await readFile(path, 'utf8')).toBe('abc')
})

test('a folder has one owner at a time', async () => {
  const folder = await openDataFolder(await temporaryFolder())
  expect(await isDataFolderClaimed(folder)).toBe(false)
  const release = await claimDataFolder(folder)
  expect(await isDataFolderClaimed(folder)).toBe(true)
  expect(await refusal(claimDataFolder(folder))).toBe(
    `Another copy of Pennypost is already running with the data folder ${folder.path}.`,
  )
  await release()
  await release()
  expect(await isDataFolderClaimed(folder)).toBe(false)
  await (await claimDataFolder(folder))()
  expect(await readdir(folder.path)).toEqual(['pennypost-data'])
})

test('a killed owner leaves the folder free', async () => {
  const folder = await openDataFolder(await temporaryFolder())
  const owner = await startOwner(folder.path)
  expect(await isDataFolderClaimed(folder)).toBe(true)
  expect(await refusal(claimDataFolder(folder))).toContain(folder.path)
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  expect(await isDataFolderClaimed(folder)).toBe(false)
  await (await claimDataFolder(folder))()
})

test('of many who come at once, never two get the folder', async () => {
  const folder = await openDataFolder(await temporaryFolder())
  for (let round = 0; round < 5; round++) {
    const claims = await Promise.allSettled(Array.from({ length: 4 }, () => claimDataFolder(folder)))
    const owners = claims.filter(claim => claim.status === 'fulfilled')
    expect(owners.length).toBeLessThanOrEqual(1)
    for (const owner of owners) await owner.value()
  }
})

test('a path too long for a socket is claimed as well', async () => {
  const folder = await openDataFolder(join(await temporaryFolder(), 'long'.repeat(30)))
  const short = shortFolder(folder.path, 'claim')
  cleanups.push(() => rm(short, { recursive: true, force: true }))
  const release = await claimDataFolder(folder)
  expect(await modeOf(short)).toBe(0o700)
  expect(await refusal(claimDataFolder(folder))).toContain(folder.path)
  await release()
  expect(await isDataFolderClaimed(folder)).toBe(false)
})
