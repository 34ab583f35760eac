import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  type DataFolder,
  ensurePrivateFolder,
  findSecret,
  fitsSocket,
  ignoreMissing,
  StartError,
  shortFolder,
  shortHash,
} from './data-folder.ts'

/** Who runs the database server. */
export interface ServerUser {
  uid: number
  gid: number
  /** Set when it is not us: PostgreSQL refuses to run as root. */
  switch: boolean
}

/**
 * Where the cluster lives: in the data folder, or, when we are root and a folder above it is closed to the user who
 * runs the database (a checkout under /root), in a far home under /var/lib. The data folder then holds a pointer to the
 * far home and the far home names the data folder, so that neither a moved nor a copied data folder meets wrong data.
 */
export interface Home {
  path: string
  cluster: string
  socketFolder: string
  user: ServerUser
}

export const passwordName = 'postgres.password'
const pointerName = 'postgres.location'
const ownerName = 'data-folder'
const farRoot = '/var/lib/pennypost'

/** The home of an existing cluster, without changing anything. */
export async function findHomePath(folder: DataFolder): Promise<string | undefined> {
  const pointer = await readFile(join(folder.path, pointerName), 'utf8').catch(ignoreMissing)
  if (pointer !== undefined) return pointer.trim()
  if (await exists(join(folder.path, 'postgres'))) return folder.path
  return undefined
}

export function socketFolderOf(homePath: string): string {
  const run = join(homePath, 'run')
  return fitsSocket(join(run, '.s.PGSQL.5432')) ? run : shortFolder(homePath, 'db')
}

/** Finds or chooses the home and makes the folder of its socket. */
export async function openHome(folder: DataFolder, onProgress: (text: string) => void): Promise<Home> {
  const existing = await findHomePath(folder)
  const user = await findServerUser(existing && join(existing, 'postgres'))
  const path = existing ?? (await chooseHomePath(folder, user, onProgress))
  if (existing !== undefined) await checkHome(folder, existing, user)
  const home = { path, cluster: join(path, 'postgres'), socketFolder: socketFolderOf(path), user }
  await ensurePrivateFolder(home.socketFolder, user)
  return home
}

async function checkHome(folder: DataFolder, path: string, user: ServerUser): Promise<void> {
  if (!(await exists(join(path, 'postgres')))) {
    const pointer = join(folder.path, pointerName)
    throw new StartError(
      `The database of ${folder.path} was kept in ${path} and is gone. Restore it, or remove ${pointer} to begin with an empty one.`,
    )
  }
  const closed = await findClosedFolder(path, user)
  if (closed !== undefined) {
    throw new StartError(
      `The database in ${path} cannot be reached by its user (uid ${user.uid}): run "chmod o+x ${closed}".`,
    )
  }
  if (path !== folder.path) await checkFarOwner(folder, path)
}

async function checkFarOwner(folder: DataFolder, path: string): Promise<void> {
  const owner = (await readFile(join(path, ownerName), 'utf8').catch(ignoreMissing))?.trim()
  if (owner === folder.path) return
  const pointer = owner && (await readFile(join(owner, pointerName), 'utf8').catch(() => undefined))
  if (pointer?.trim() === path) {
    throw new StartError(
      `The data folder ${folder.path} is a copy of ${owner}: both point to the database in ${path}. Use another data folder.`,
    )
  }
  await writeFile(join(path, ownerName), `${folder.path}\n`)
}

async function chooseHomePath(
  folder: DataFolder,
  user: ServerUser,
  onProgress: (text: string) => void,
): Promise<string> {
  const closed = await findClosedFolder(folder.path, user)
  if (closed === undefined) return folder.path
  const far = join(farRoot, `${basename(folder.path)}-${shortHash(folder.path)}`)
  // A cluster whose data folder was deleted and made anew: its password is gone, and a fresh start was asked for.
  if ((await exists(join(far, 'postgres'))) && (await findSecret(folder, passwordName)) === undefined) {
    const aside = `${far}.${Date.now()}`
    await rename(far, aside)
    onProgress(`The database of an earlier data folder was set aside in ${aside}.`)
  }
  for (const path of [farRoot, far]) {
    await mkdir(path, { recursive: true })
    await chmod(path, 0o711)
  }
  await writeFile(join(far, ownerName), `${folder.path}\n`)
  onProgress(`The database is kept in ${far}, because ${closed} is closed to the user who runs it.`)
  return far
}

/** After the cluster is made, so that a pointer always means that there was data. */
export async function pointToHome(folder: DataFolder, home: Home): Promise<void> {
  if (home.path === folder.path) return
  const pointer = join(folder.path, pointerName)
  await writeFile(`${pointer}.new`, `${home.path}\n`, { mode: 0o600, flush: true })
  await rename(`${pointer}.new`, pointer)
}

/** The folder of a path that the user may not pass through, the outermost of them. */
export async function findClosedFolder(path: string, user: ServerUser): Promise<string | undefined> {
  if (!user.switch) return undefined
  const parent = dirname(path)
  const above = parent === path ? undefined : await findClosedFolder(parent, user)
  return above ?? (mayUse(await stat(path), user, 0o1) ? undefined : path)
}

/** What the permission bits allow; `bits` are those of "others" (4 read, 1 execute or search). */
export function mayUse(found: { uid: number; gid: number; mode: number }, user: ServerUser, bits: number): boolean {
  const shift = found.uid === user.uid ? 6 : found.gid === user.gid ? 3 : 0
  return ((found.mode >> shift) & bits) === bits
}

async function findServerUser(cluster: string | undefined): Promise<ServerUser> {
  const ourUid = process.getuid?.()
  if (ourUid !== 0) return { uid: ourUid ?? 0, gid: process.getgid?.() ?? 0, switch: false }
  const found = cluster === undefined ? undefined : await stat(cluster).catch(ignoreMissing)
  if (found !== undefined && found.uid !== 0) return { uid: found.uid, gid: found.gid, switch: true }
  const nobody = process.platform === 'darwin' ? await askForNobody() : await lookUpNobody()
  if (nobody === undefined) {
    throw new StartError(
      'The bundled database cannot run as root and there is no user "nobody" to run it: start Pennypost as another user, or set DATABASE_URL.',
    )
  }
  return { ...nobody, switch: true }
}

async function lookUpNobody(): Promise<{ uid: number; gid: number } | undefined> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const fields = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd)
  return fields === null ? undefined : { uid: Number(fields[1]), gid: Number(fields[2]) }
}

/** On macOS users live in a directory service; `>>> 0` because nobody is -2 there and files say 4294967294. */
async function askForNobody(): Promise<{ uid: number; gid: number } | undefined> {
  const ask = async (flag: string) => Number((await promisify(execFile)('id', [flag, 'nobody'])).stdout) >>> 0
  return { uid: await ask('-u'), gid: await ask('-g') }
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(ignoreMissing)) !== undefined
}
