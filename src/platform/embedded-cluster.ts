import { randomBytes } from 'node:crypto'
import { chmod, chown, lchown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DataFolder, findSecret, ignoreMissing, keepSecret, StartError, syncFolder } from './data-folder.ts'
import type { Binaries } from './embedded-binaries.ts'
import { exists, type Home, passwordName, pointToHome } from './embedded-home.ts'
import { run, serverError, stopOrphan } from './embedded-server.ts'

/** The superuser of the cluster and the name of everything in it. */
export const userName = 'pennypost'

export interface Site {
  folder: DataFolder
  home: Home
  binaries: Binaries
  durable: boolean
  onProgress: (text: string) => void
}

/** Makes the cluster, or makes sure that the one that is there can be started; gives its password. */
export async function openCluster(site: Site): Promise<string> {
  const { folder, home, binaries } = site
  await removeLeftovers(home)
  if (await exists(home.cluster)) {
    await checkVersion(home, binaries)
    await stopOrphan(home)
    await mendPermissions(home)
    if ((await findSecret(folder, passwordName)) === undefined) {
      throw new StartError(
        `The password of the database is missing: restore ${join(folder.path, passwordName)} from a backup.`,
      )
    }
  } else {
    site.onProgress('Creating the database…')
    await createCluster(site, await keepSecret(folder, passwordName))
  }
  await pointToHome(folder, home)
  return keepSecret(folder, passwordName)
}

async function removeLeftovers(home: Home): Promise<void> {
  for (const [folder, prefix] of [
    [home.path, 'postgres.new'],
    [home.socketFolder, 'initdb-'],
  ] as const) {
    for (const name of await readdir(folder)) {
      // An initdb whose program was killed may still write for a second; its folder is then removed the next time.
      if (name.startsWith(prefix)) await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined)
    }
  }
}

async function checkVersion(home: Home, binaries: Binaries): Promise<void> {
  const found = (await readFile(join(home.cluster, 'PG_VERSION'), 'utf8').catch(ignoreMissing))?.trim()
  if (found === binaries.major) return
  throw new StartError(
    found === undefined
      ? `The folder ${home.cluster} is not a PostgreSQL database: it has no file PG_VERSION.`
      : `The database in ${home.cluster} was made by PostgreSQL ${found}, but this program brings PostgreSQL ${binaries.major}: use the version of Pennypost that made it, or set DATABASE_URL.`,
  )
}

/** A cluster restored from a copy often has other owners and permissions, with which PostgreSQL does not start. */
async function mendPermissions(home: Home): Promise<void> {
  const { uid, mode } = await stat(home.cluster)
  if (home.user.switch && uid !== home.user.uid) await giveTo(home.cluster, home.user)
  if ((mode & 0o777) !== 0o700) await chmod(home.cluster, 0o700)
}

async function giveTo(folder: string, user: Home['user']): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), user.uid, user.gid)
  }
  // Last, because it is what tells that the rest is still to be done.
  await chown(folder, user.uid, user.gid)
}

/**
 * Made under another name and renamed when complete, so that a program killed meanwhile leaves no half cluster; a name
 * of its own, so that the initdb of the killed program does not write into ours.
 */
async function createCluster({ home, binaries, durable }: Site, password: string): Promise<void> {
  const token = randomBytes(6).toString('hex')
  const draft = `${home.cluster}.new-${token}`
  const passwordFile = join(home.socketFolder, `initdb-${token}`)
  await mkdir(draft, { mode: 0o700 })
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    if (home.user.switch) {
      for (const path of [draft, passwordFile]) await chown(path, home.user.uid, home.user.gid)
    }
    const args = ['-D', draft, '-U', userName, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8']
    args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8')
    if (!durable) args.push('--no-sync')
    const exit = await run(binaries.initdb, args, home.user).exited
    if (exit.code !== 0) throw serverError(`The database in ${home.path} could not be created`, exit)
    await rename(draft, home.cluster)
    if (durable) await syncFolder(home.path)
  } finally {
    await rm(passwordFile, { force: true })
    await rm(draft, { recursive: true, force: true })
  }
}
