import { describe, expect, it } from 'vitest'
import {
  findIncomplete,
  findUndecided,
  findUnpinned,
  findUnreleased,
  findWrongRepository,
  isManifest,
  runtimeDependencies,
} from './manifests.ts'
import { readFiles } from './repository.ts'

const files = readFiles()
const manifests = files.filter(isManifest)
const published = manifests.filter((file) => file.path.startsWith('packages/'))
const fileAt = (path: string) => files.find((file) => file.path === path) ?? { path, text: '{}' }
const textOf = (pattern: RegExp) =>
  files
    .filter((file) => pattern.test(file.path))
    .map((file) => file.text)
    .join('\n')

describe('manifests', () => {
  it('pin every dependency in the catalog or the workspace', () => {
    expect(manifests.flatMap(findUnpinned)).toEqual([])
  })

  it('of published packages state license, module type and engine', () => {
    expect(published.flatMap(findIncomplete)).toEqual([])
  })

  it('of published packages name one repository, and their own folder in it', () => {
    const rootManifest = fileAt('package.json')
    expect(rootManifest.text).toContain('"repository"')
    expect(published.flatMap((file) => findWrongRepository(file, rootManifest))).toEqual([])
  })

  it('of published packages share one version', () => {
    expect(findUnreleased(published, fileAt('.changeset/config.json'))).toEqual([])
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

  it('report another repository, and another folder', () => {
    const rootManifest = {
      path: 'package.json',
      text: JSON.stringify({ repository: { url: 'git+https://a.invalid' } }),
    }
    const repository = { type: 'git', url: 'git+https://a.invalid', directory: 'packages/a' }
    expect(findWrongRepository(manifest({ repository }), rootManifest)).toEqual([])
    expect(findWrongRepository(manifest({}), rootManifest)).toHaveLength(1)
    for (const change of [{ url: 'git+https://b.invalid' }, { directory: 'packages/b' }]) {
      expect(findWrongRepository(manifest({ repository: { ...repository, ...change } }), rootManifest)).toHaveLength(1)
    }
  })

  it('report a package that would be released on its own', () => {
    const config = (fixed: unknown) => ({ path: '.changeset/config.json', text: JSON.stringify({ fixed }) })
    const some = [manifest({ name: 'b' }), manifest({ name: 'a' })]
    expect(findUnreleased(some, config([['a', 'b']]))).toEqual([])
    expect(findUnreleased(some, config([['a']]))).toHaveLength(1)
  })

  it('report a dependency that nobody decided on', () => {
    const names = runtimeDependencies([manifest({ dependencies: { pg: 'catalog:' } })])
    expect(findUndecided(names, 'We use `knex`.')).toHaveLength(1)
    expect(findUndecided(names, 'We use `pg`.')).toEqual([])
  })
})
