/** The size of a change for a host. */
export type ChangeSize = 'major' | 'minor' | 'patch'

/** One change that waits for a release. */
export interface Change {
  /** What changes for a host, in a few sentences. */
  readonly summary: string
  readonly size: ChangeSize
}

const titles: Readonly<Record<ChangeSize, string>> = { major: 'Breaking', minor: 'New', patch: 'Fixed' }

const pending = ', not released yet'

/** The version of the newest section, and whether it is unreleased; `undefined` for a changelog without sections. */
export function newestVersion(
  changelog: string,
): { readonly version: string; readonly isPending: boolean } | undefined {
  const heading = /^## (.+)$/m.exec(changelog)?.[1]
  return heading === undefined
    ? undefined
    : { version: heading.replace(pending, ''), isPending: heading.endsWith(pending) }
}

/**
 * The changelog with the changes of a release, one entry each, as its newest section. A section of that version that was not
 * released yet is completed instead.
 */
export function addRelease(changelog: string, version: string, changes: readonly Change[]): string {
  const entries = (['major', 'minor', 'patch'] as const).flatMap((size) => {
    const lines = changes.filter((change) => change.size === size).map(({ summary }) => entryOf(summary))
    return lines.length === 0 ? [] : [`${titles[size]}:\n\n${lines.join('\n')}\n\n`]
  })
  const heading = `## ${version}\n\n`
  const started = `## ${version}${pending}\n\n`
  if (changelog.includes(started)) return changelog.replace(started, () => `${heading}${entries.join('')}`)
  const at = changelog.search(/^## /m)
  if (at < 0) return `${changelog.trimEnd()}\n\n${heading}${entries.join('').trimEnd()}\n`
  return `${changelog.slice(0, at)}${heading}${entries.join('')}${changelog.slice(at)}`
}

const entryOf = (summary: string): string => `- ${summary.trim().replaceAll('\n', '\n  ')}`
