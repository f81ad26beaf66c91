import type { File, Finding } from './repository.ts'

/** The members of a package.json that the house rules are about. */
interface Manifest {
  readonly name?: string
  readonly private?: boolean
  readonly license?: string
  readonly type?: string
  readonly engines?: { readonly node?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** True for a package.json. */
export const isManifest = (file: File): boolean => /(^|\/)package\.json$/.test(file.path)

const parseManifest = (file: File): Manifest => JSON.parse(file.text) as Manifest

/** Finds dependencies whose version is not taken from the catalog or the workspace. Peers may name a range. */
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
