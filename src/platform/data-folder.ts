import { createHash, randomBytes } from 'node:crypto'
import {
  access,
  chmod,
  chown,
  constants,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** The program cannot start, and the message is a sentence for the person who started it. */
export class StartError extends Error {
  override name = 'StartError'
}

export interface DataFolder {
  /** Absolute and free of symbolic links, so that one folder has one name. */
  path: string
}

const markerName = 'pennypost-data'
const markerText = 'This folder holds the data of a Pennypost program. Keep it private and back it up as a whole.\n'

/** Creates the folder if it is missing and makes sure that it can be written. */
export async function openDataFolder(path: string): Promise<DataFolder> {
  const wanted = resolve(path)
  try {
    // As root the database runs as another user, who must be able to pass through without seeing what is here.
    const mode = process.getuid?.() === 0 ? 0o711 : 0o700
    await makeFolder(wanted, mode)
    const folder = { path: await realpath(wanted) }
    await access(folder.path, constants.R_OK | constants.W_OK | constants.X_OK)
    if (await isOurs(folder)) await letDatabaseUserPass(folder)
    return folder
  } catch (error) {
    throw folderError(error, wanted)
  }
}

/** Not mkdir's own `recursive`, which never returns where nothing can be made (/proc) and leaves modes to the umask. */
async function makeFolder(path: string, mode: number): Promise<void> {
  if ((await stat(path).catch(ignoreMissing))?.isDirectory()) return
  if (dirname(path) !== path) await makeFolder(dirname(path), mode)
  const isMade = await mkdir(path, { mode: 0o700 }).then(
    () => true,
    async error => {
      // Two programs may make it at once.
      if (error.code === 'EEXIST' && (await stat(path)).isDirectory()) return false
      throw error
    },
  )
  if (isMade) await chmod(path, mode)
}

/** A folder is marked while it is empty, so that a folder holding something else is never opened to other users. */
async function isOurs(folder: DataFolder): Promise<boolean> {
  const names = await readdir(folder.path)
  if (names.includes(markerName)) return true
  if (names.some(name => name !== 'lost+found')) return false
  await writeFile(join(folder.path, markerName), markerText, { mode: 0o600 })
  return true
}

async function letDatabaseUserPass(folder: DataFolder): Promise<void> {
  const { uid, mode } = await stat(folder.path)
  if (process.getuid?.() === 0 && uid === 0 && (mode & 0o001) === 0) await chmod(folder.path, (mode & 0o777) | 0o011)
}

/** Says in one sentence why a folder cannot be used; an error that is not the system's is a mistake of ours and stays. */
export function folderError(error: unknown, path: string): unknown {
  const { code, path: place, message, syscall } = error as NodeJS.ErrnoException
  if (error instanceof StartError || syscall === undefined) return error
  const at = place === undefined || place === path ? '' : ` at ${place}`
  const reasons: Record<string, string> = {
    EEXIST: 'a file is in its place',
    ENOTDIR: 'a file is in its place',
    EACCES: 'this user may not read and write there',
    EPERM: 'this user may not read and write there',
    EROFS: 'the disk is read-only',
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk is full',
  }
  return new StartError(`The data folder ${path} cannot be used: ${reasons[code ?? ''] ?? message}${at}.`)
}

/** The key from which every other secret of this installation is derived or sealed. */
export async function readMasterKey(folder: DataFolder): Promise<Buffer> {
  return Buffer.from(await keepSecret(folder, 'secret.key'), 'hex')
}

/** 32 random bytes in hex, made at first use and the same for everybody who asks, even at the same moment. */
export async function keepSecret(folder: DataFolder, name: string): Promise<string> {
  try {
    return (await findSecret(folder, name)) ?? (await makeSecret(folder, name))
  } catch (error) {
    throw folderError(error, folder.path)
  }
}

export async function findSecret(folder: DataFolder, name: string): Promise<string | undefined> {
  return readSecret(join(folder.path, name)).catch(ignoreMissing)
}

async function readSecret(path: string): Promise<string> {
  const text = (await readFile(path, 'utf8')).trim()
  if (/^[0-9a-f]{64}$/.test(text)) return text
  throw new StartError(`The file ${path} is damaged: it must hold 64 hexadecimal digits. Restore it from a backup.`)
}

async function makeSecret(folder: DataFolder, name: string): Promise<string> {
  const path = join(folder.path, name)
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await writeDurably(draft, `${randomBytes(32).toString('hex')}\n`)
    // A link never overwrites: of two programs that make the secret at once, both use the one that came first.
    await link(draft, path).catch(error => {
      if (error.code !== 'EEXIST') throw error
    })
    await syncFolder(folder.path)
  } finally {
    await rm(draft, { force: true })
  }
  return readSecret(path)
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes new names in a folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  await handle.sync().finally(() => handle.close())
}

/**
 * One program owns a data folder at a time. An owner listens on a socket of its own name, which answers exactly as long
 * as it lives. Whoever wants the folder shows its socket first and looks for others second, so of two who come at once
 * at least one sees the other; nobody ever removes a socket that answers.
 */
export async function claimDataFolder(folder: DataFolder): Promise<() => Promise<void>> {
  const attempts = 5
  for (let attempt = 1; ; attempt++) {
    const claim = await showClaim(folder)
    const others = await findLiveClaims(folder, claim.name)
    if (others.length === 0) return claim.withdraw
    await claim.withdraw()
    if (attempt === attempts) {
      throw new StartError(`Another copy of Pennypost is already running with the data folder ${folder.path}.`)
    }
    // Two that came in the same instant have both stepped back: come again at different times.
    await delay(10 + Math.random() * 60)
  }
}

export async function isDataFolderClaimed(folder: DataFolder): Promise<boolean> {
  try {
    return (await findLiveClaims(folder)).length > 0
  } catch (error) {
    throw folderError(error, folder.path)
  }
}

const claimPattern = /^claim-[0-9a-f]{8}\.sock$/

async function showClaim(folder: DataFolder): Promise<{ name: string; withdraw: () => Promise<void> }> {
  const name = `claim-${randomBytes(4).toString('hex')}.sock`
  const where = claimFolder(folder)
  const path = join(where, name)
  const draft = path.replace(/sock$/, 'new')
  try {
    if (where !== folder.path) await ensurePrivateFolder(where, await stat(folder.path))
    const server = await listen(draft)
    // It appears under its name only once it answers, so a socket that does not answer belongs to the dead.
    await rename(draft, path)
    const withdraw = async () => {
      await rm(path, { force: true })
      if (server.listening) await new Promise(done => server.close(done))
    }
    return { name, withdraw }
  } catch (error) {
    throw folderError(error, folder.path)
  }
}

function listen(path: string): Promise<Server> {
  const server = createServer(socket => socket.destroy())
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen(path, () => {
      server.off('error', fail)
      server.unref()
      done(server)
    })
  })
}

async function findLiveClaims(folder: DataFolder, except?: string): Promise<string[]> {
  const where = claimFolder(folder)
  const names = (await readdir(where).catch(ignoreMissing)) ?? []
  const live: string[] = []
  for (const name of names) {
    if (name === except || !claimPattern.test(name)) continue
    if (await answers(join(where, name))) live.push(name)
    else await rm(join(where, name), { force: true }).catch(() => undefined)
  }
  return live
}

/** Whether somebody listens on a unix socket. Doubt counts as yes, because a wrong no would give a folder two owners. */
export function answers(socketPath: string): Promise<boolean> {
  return new Promise(done => {
    const socket = connect(socketPath)
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => done(!['ECONNREFUSED', 'ENOENT'].includes(error.code ?? '')))
  })
}

function claimFolder(folder: DataFolder): string {
  return fitsSocket(join(folder.path, 'claim-00000000.sock')) ? folder.path : shortFolder(folder.path, 'claim')
}

/** The kernel allows 108 bytes for the name of a socket, 104 on macOS, and cuts or refuses what is longer. */
export function fitsSocket(path: string): boolean {
  return Buffer.byteLength(path) <= 100
}

/** A short place for the sockets of a long path; not os.tmpdir(), which differs between a service and a shell beside it. */
export function shortFolder(path: string, purpose: string): string {
  return `/tmp/pennypost-${shortHash(path)}-${purpose}`
}

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** In /tmp anybody may have made the folder before us, so what is there must belong to us or to the one we expect. */
export async function ensurePrivateFolder(path: string, owner: { uid: number; gid: number }): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch(error => {
    if (error.code !== 'EEXIST') throw error
  })
  const ourUid = process.getuid?.()
  const found = await lstat(path)
  if (!found.isDirectory() || (found.uid !== owner.uid && found.uid !== ourUid)) {
    throw new StartError(`The folder ${path} is needed for a socket but belongs to another user. Remove it.`)
  }
  if (ourUid === 0 && found.uid !== owner.uid) await chown(path, owner.uid, owner.gid)
  if ((found.mode & 0o777) !== 0o700) await chmod(path, 0o700)
}

/** For files that may not be there yet: undefined instead of an error. */
export function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
