import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import process from 'node:process'

/** Absolute path of the repository. */
export const root = join(import.meta.dirname, '..')

/** One way into a package. */
export interface Target {
  readonly types: string
  readonly default: string
}

/** The members of a package.json that programs here read. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly exports: Readonly<Record<string, string | Target | { readonly import: Target }>>
  readonly license?: string
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly repository: { readonly url: string }
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Folders of the published packages, with their manifests, in the order of their names. */
export function listPackages(): readonly { readonly folder: string; readonly manifest: Manifest }[] {
  return readdirSync(join(root, 'packages'))
    .sort()
    .map((name) => join('packages', name))
    .map((folder) => ({
      folder,
      manifest: JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest,
    }))
}

/** Packs every package into a folder. Returns the absolute path of each tarball by the name of its package. */
export function packPackages(directory: string): ReadonlyMap<string, string> {
  const destination = resolve(directory)
  mkdirSync(destination, { recursive: true })
  runPnpm(['--filter', './packages/*', 'pack', '--pack-destination', destination])
  return new Map(
    listPackages().map(({ manifest: { name, version } }) => [
      name,
      join(destination, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`),
    ]),
  )
}

/** A script of pnpm uses the pnpm that runs it; other programs get it from npm. */
function runPnpm(args: readonly string[]): void {
  const running = process.env['npm_execpath'] ?? ''
  const isPnpm = /^pnpm(\.exe)?$/.test(basename(running))
  const { status, error, stderr } = isPnpm
    ? spawnSync(running, args, { cwd: root, encoding: 'utf8' })
    : spawnSync('npx', ['-y', 'pnpm@12', ...args], {
        cwd: root,
        encoding: 'utf8',
        shell: process.platform === 'win32',
      })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`pnpm ${args.join(' ')} ended with ${status}: ${stderr}`)
}
