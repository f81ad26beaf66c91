import { describe, expect, it } from 'vitest'
import { findIncomplete, findUndecided, findUnpinned, isManifest, runtimeDependencies } from './manifests.ts'
import { readFiles } from './repository.ts'

const files = readFiles()
const manifests = files.filter(isManifest)
const textOf = (pattern: RegExp) =>
  files
    .filter((file) => pattern.test(file.path))
    .map((file) => file.text)
    .join('\n')

describe('manifests', () => {
  it('take every dependency from the catalog or the workspace', () => {
    expect(manifests.flatMap(findUnpinned)).toEqual([])
  })

  it('of published packages state license, module type and engine', () => {
    expect(manifests.filter((file) => file.path.startsWith('packages/')).flatMap(findIncomplete)).toEqual([])
  })

  it('need nothing at run time that no decision record names', () => {
    const names = runtimeDependencies(manifests)
    expect(names).not.toEqual([])
    expect(findUndecided(names, textOf(/^docs\/decisions\/.*\.md$/))).toEqual([])
  })
})

describe('the README', () => {
  it.each(['npx -y pnpm@12 quickstart', 'npx -y pnpm@12 test'])('names the command %s', (command) => {
    expect(textOf(/^README\.md$/)).toContain(command)
  })
})

describe('the checks of manifests', () => {
  const manifest = (content: object) => ({ path: 'packages/a/package.json', text: JSON.stringify(content) })

  it('report a version that is written in place', () => {
    expect(findUnpinned(manifest({ devDependencies: { pg: '8.0.0' } }))).toHaveLength(1)
    expect(findUnpinned(manifest({ dependencies: { pg: 'catalog:', a: 'workspace:*' } }))).toEqual([])
  })

  it('report a package without license or engine', () => {
    expect(findIncomplete(manifest({ type: 'module' }))).toHaveLength(1)
  })

  it('report a dependency that nobody decided on', () => {
    const names = runtimeDependencies([manifest({ dependencies: { pg: 'catalog:' } })])
    expect(findUndecided(names, 'We use `knex`.')).toHaveLength(1)
    expect(findUndecided(names, 'We use `pg`.')).toEqual([])
  })
})
