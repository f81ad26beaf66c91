import type { Manifest } from '../packages.ts'

/** The placeholder for the repository's address. */
export const placeholder = 'git+https://github.invalid/outlay/outlay.git'

/** The facts that decide whether a release can be published. */
export interface Readiness {
  readonly manifests: readonly Pick<Manifest, 'name' | 'version' | 'repository'>[]
  readonly newest: { readonly version: string; readonly isPending: boolean } | undefined
  /** Changes that are in no changelog yet. */
  readonly waiting: readonly string[]
  /** Tags of the commit. */
  readonly tags: readonly string[]
  readonly isClean: boolean
}

/** The obstacles to publishing, a sentence each; empty when there are none. */
export function findObstacles({ manifests, newest, waiting, tags, isClean }: Readiness): readonly string[] {
  const versions = [...new Set(manifests.map(({ version }) => version))]
  const version = versions[0] ?? ''
  return [
    manifests.some(({ repository }) => repository.url === placeholder) &&
      'The address of the repository is a placeholder; see "Releasing" in CONTRIBUTING.md.',
    versions.length !== 1 && `The packages have several versions: ${versions.join(', ')}.`,
    (newest?.version !== version || newest.isPending) && `${version} is not the newest release in CHANGELOG.md.`,
    waiting.length > 0 && `${waiting.join(', ')} of .changeset is in no release; run release:version.`,
    !tags.includes(`v${version}`) && `This commit has no tag v${version}.`,
    !isClean && 'There are files that are not committed.',
  ].filter((obstacle) => obstacle !== false)
}

/** The packages, each after those that it needs. */
export function sortByDependency<Each extends Pick<Manifest, 'name' | 'dependencies'>>(
  manifests: readonly Each[],
): readonly Each[] {
  const sorted = new Set<Each>()
  const visit = (manifest: Each) => {
    for (const needed of manifests) {
      if (needed !== manifest && !sorted.has(needed) && needed.name in (manifest.dependencies ?? {})) visit(needed)
    }
    sorted.add(manifest)
  }
  manifests.forEach(visit)
  return [...sorted]
}
