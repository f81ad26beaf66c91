import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const releasesFolder = fileURLToPath(new URL('../releases/', import.meta.url))
const packagesFolder = fileURLToPath(new URL('../../packages/', import.meta.url))
const hostFile = fileURLToPath(new URL('./upgrade-host-main.ts', import.meta.url))

/** Code of a release, unpacked beside the dependencies of the workspace. */
export interface Release extends AsyncDisposable {
  /** The host of `upgrade-host-main.ts`, running on this release's code. */
  readonly hostEntry: string
  /** Its migrations of the engine. */
  readonly migrations: string
}

/** Versions whose code is kept, oldest first. */
export async function listReleases(): Promise<readonly string[]> {
  const entries = await readdir(releasesFolder, { withFileTypes: true })
  const versions = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
}

/** File names of the numbered migrations of a package of this workspace, in order. */
export async function listNumbered(name: 'adapters-pg' | 'service'): Promise<readonly string[]> {
  return (await readdir(migrationsOf(name))).filter((file) => /^\d.*\.sql$/.test(file)).sort()
}

/** The folder of a package's migrations in this workspace. */
export function migrationsOf(name: 'adapters-pg' | 'service'): string {
  return join(packagesFolder, name, 'migrations')
}

/** Unpacks a release. */
export async function unpackRelease(version: string): Promise<Release> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), `outlay-${version}-`)))
  const scope = join(folder, 'node_modules', '@outlay')
  const archives = (await readdir(join(releasesFolder, version))).filter((file) => file.endsWith('.tgz'))
  for (const archive of archives) {
    const name = archive.slice('outlay-'.length, -`-${version}.tgz`.length)
    const target = join(scope, name)
    await mkdir(target, { recursive: true })
    const file = join(releasesFolder, version, archive)
    await promisify(execFile)('tar', ['-xzf', file, '-C', target, '--strip-components=1'])
    await linkDependencies(folder, name)
  }
  const migrations = join(scope, 'adapters-pg', 'migrations')
  const hostEntry = join(folder, 'upgrade-host-main.ts')
  await copyFile(hostFile, hostEntry)
  const remove = () => rm(folder, { recursive: true, force: true })
  return { hostEntry, migrations, [Symbol.asyncDispose]: remove }
}

/** The host on the code of this workspace. */
export const currentHostEntry = hostFile

/** Links what a released package needs from outside to what this workspace has of it. */
async function linkDependencies(folder: string, name: string): Promise<void> {
  const manifest = await readFile(join(folder, 'node_modules', '@outlay', name, 'package.json'), 'utf8')
  const { dependencies = {} } = JSON.parse(manifest) as { readonly dependencies?: Readonly<Record<string, string>> }
  for (const dependency of Object.keys(dependencies).filter((one) => !one.startsWith('@outlay/'))) {
    const target = join(folder, 'node_modules', dependency)
    await mkdir(dirname(target), { recursive: true })
    await symlink(await realpath(join(packagesFolder, name, 'node_modules', dependency)), target).catch((error) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    })
  }
}
