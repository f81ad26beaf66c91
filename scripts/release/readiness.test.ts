import { expect, it } from 'vitest'
import { findObstacles, placeholder, type Readiness, sortByDependency } from './readiness.ts'

const repository = { url: 'git+https://host.invalid/outlay.git' }
const ready: Readiness = {
  manifests: [{ name: 'a', version: '0.2.0', repository }],
  newest: { version: '0.2.0', isPending: false },
  waiting: [],
  tags: ['v0.2.0'],
  isClean: true,
}

it('a tagged commit whose changelog names its version can be published', () => {
  expect(findObstacles(ready)).toEqual([])
})

it.each<[string, Partial<Readiness>]>([
  ['placeholder', { manifests: [{ name: 'a', version: '0.2.0', repository: { url: placeholder } }] }],
  ['several versions', { manifests: [...ready.manifests, { name: 'b', version: '0.1.0', repository }] }],
  ['CHANGELOG.md', { newest: { version: '0.2.0', isPending: true } }],
  ['CHANGELOG.md', { newest: { version: '0.1.0', isPending: false } }],
  ['late-fox.md', { waiting: ['late-fox.md'] }],
  ['no tag v0.2.0', { tags: ['v0.1.0'] }],
  ['not committed', { isClean: false }],
])('nothing is published against the obstacle: %s', (words, change) => {
  expect(findObstacles({ ...ready, ...change })).toEqual([expect.stringContaining(words)])
})

it('a package is published after those that it needs', () => {
  const manifests = [
    { name: 'c', dependencies: { b: '1', a: '1' } },
    { name: 'b', dependencies: { a: '1' } },
    { name: 'a' },
  ]
  expect(sortByDependency(manifests).map(({ name }) => name)).toEqual(['a', 'b', 'c'])
})
