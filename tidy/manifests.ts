import { posix } from 'node:path'
import type { File, Finding } from './repository.ts'

/** The members of a package.json that the house rules are about. */
interface Manifest {
  readonly name?: string
  readonly private?: boolean
  readonly license?: string
  readonly type?: string
  readonly engines?: { readonly node?: string }
  readonly repository?: { readonly type?: string; readonly url?: string; readonly directory?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** True for a package.json. */
export const isManifest = (file: File): boolean => /(^|\/)package\.json$/.test(file.path)

const parseManifest = (file: File): Manifest => JSON.parse(file.text) as Manifest

/** Finds dependencies whose version is not from the catalog or the workspace. Peers may name a range. */
export const findUnpinned = (file: File): readonly Finding[] => {
  const { dependencies, devDependencies, optionalDependencies } = parseManifest(file)
  return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
    .filter(([, version]) => !/^(catalog|workspace):/.test(version))
    .map(([name, version]) => `${file.path}: ${name} is ${version}; pin it in the catalog and write "catalog:"`)
}

/** Finds published packages that do not state the house's license, module type or engine. */
export const findIncomplete = (file: File): readonly Finding[] => {
  const { license, type, engines } = parseManifest(file)
  const wanted = { license: 'Apache-2.0', type: 'module', node: '>=22.19.0' }
  const found = { license, type, node: engines?.node }
  return JSON.stringify(found) === JSON.stringify(wanted) ? [] : [`${file.path}: says ${JSON.stringify(found)}`]
}

/** Finds a published package that does not name the repository as the root's manifest does, and its own folder in it. */
export const findWrongRepository = (file: File, rootManifest: File): readonly Finding[] => {
  const url = parseManifest(rootManifest).repository?.url
  const wanted = { type: 'git', url, directory: posix.dirname(file.path) }
  const found = parseManifest(file).repository
  return JSON.stringify(found) === JSON.stringify(wanted)
    ? []
    : [`${file.path}: the repository is ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`]
}

/** Finds published packages that do not share their version with the others, by the configuration of changesets. */
export const findUnreleased = (manifests: readonly File[], config: File): readonly Finding[] => {
  const { fixed } = JSON.parse(config.text) as { readonly fixed: readonly (readonly string[])[] }
  const names = manifests.map((file) => parseManifest(file).name ?? file.path).sort()
  return JSON.stringify(fixed) === JSON.stringify([names])
    ? []
    : [`${config.path}: "fixed" is ${JSON.stringify(fixed)} instead of ${JSON.stringify([names])}`]
}

/** Names what the published packages need at run time from outside this repository, in order. */
export const runtimeDependencies = (manifests: readonly File[]): readonly string[] => {
  const published = manifests.filter((file) => file.path.startsWith('packages/')).map(parseManifest)
  const names = published.flatMap(({ dependencies, peerDependencies }) =>
    Object.keys({ ...dependencies, ...peerDependencies }),
  )
  return [...new Set(names)].filter((name) => !name.startsWith('@outlay/')).sort()
}

/** Finds run-time dependencies that no decision record names. */
export const findUndecided = (names: readonly string[], decisions: string): readonly Finding[] =>
  names.filter((name) => !decisions.includes(`\`${name}\``)).map((name) => `${name} has no entry in docs/decisions`)
