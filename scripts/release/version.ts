/** Gives all packages their next version, and moves what waits in `.changeset` into the changelog. Publishes nothing. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { listPackages, root } from '../packages.ts'
import { addRelease, type ChangeSize, newestVersion } from './changelog.ts'
import { run } from './run.ts'

/** The output of `changeset status --output`, as far as we read it. */
interface Status {
  readonly changesets: readonly {
    readonly summary: string
    readonly releases: readonly { readonly type: ChangeSize | 'none' }[]
  }[]
}

function readStatus(): Status['changesets'] {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-release-'))
  try {
    run('changeset', ['status', '--output', relative(root, join(folder, 'status.json'))])
    return (JSON.parse(readFileSync(join(folder, 'status.json'), 'utf8')) as Status).changesets
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const sizes = ['major', 'minor', 'patch'] as const
const path = join(root, 'CHANGELOG.md')
const changelog = readFileSync(path, 'utf8')
const newest = newestVersion(changelog)
const waiting = readdirSync(join(root, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md')
const changes = (waiting.length === 0 ? [] : readStatus()).flatMap(({ summary, releases }) => {
  const size = sizes.find((each) => releases.some(({ type }) => type === each))
  return size === undefined ? [] : [{ summary, size }]
})
if (changes.length === 0 && newest?.isPending !== true) throw new Error('Nothing waits for a release.')

if (newest?.isPending === true) {
  // The packages already have this version, because it is not released yet.
  for (const name of waiting) rmSync(join(root, '.changeset', name))
} else {
  run('changeset', ['version'])
}
const version = listPackages()[0]?.manifest.version ?? ''
writeFileSync(path, addRelease(changelog, version, changes))
console.log(`${version} is ready: read CHANGELOG.md, commit, tag it v${version}, and push the tag.`)
