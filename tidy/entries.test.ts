import { describe, expect, it } from 'vitest'
import { findUnguardedEntries } from './entries.ts'
import { isManifest } from './manifests.ts'
import { readFiles } from './repository.ts'

const files = readFiles()
const published = files.filter((file) => isManifest(file) && file.path.startsWith('packages/'))

describe('entries of published packages', () => {
  it('refuse an unsupported Node first', () => {
    expect(published).not.toEqual([])
    expect(published.flatMap((manifest) => findUnguardedEntries(manifest, files))).toEqual([])
  })
})

describe('the check of entries', () => {
  const exports = { '.': { import: { types: './dist/index.d.ts' } }, './a': { types: './dist/a.d.ts' }, './b': './b' }
  const manifest = { path: 'packages/x/package.json', text: JSON.stringify({ exports }) }
  const entry = (name: string, text: string) => ({ path: `packages/x/src/${name}.ts`, text })
  const guarded = `import '@outlay/core/node-version'\nexport * from './c.ts'`

  it('reports an entry that imports something else first, or has no source', () => {
    const late = `import pg from 'pg'\nimport '@outlay/core/node-version'`
    expect(findUnguardedEntries(manifest, [entry('index', guarded), entry('a', late)])).toHaveLength(1)
    expect(findUnguardedEntries(manifest, [entry('index', guarded)])).toHaveLength(1)
    expect(findUnguardedEntries(manifest, [entry('index', guarded), entry('a', guarded)])).toEqual([])
  })
})
