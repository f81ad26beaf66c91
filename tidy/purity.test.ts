import { describe, expect, it } from 'vitest'
import { findImpurity } from './purity.ts'
import { readFiles } from './repository.ts'

describe('core', () => {
  it('is pure: it takes time, randomness and the network as arguments', () => {
    expect(readFiles().flatMap(findImpurity)).toEqual([])
  })
})

describe('the check of purity', () => {
  const check = (text: string) => findImpurity({ path: 'packages/core/src/a.ts', text })

  it.each([
    `import { join } from 'node:path'`,
    'const a = process.env.A',
    'const a = Date.now()',
    'const a = new Date()',
    'const a = Math.random()',
    `const a = fetch('/')`,
    'setTimeout(() => {}, 1)',
    'const a = globalThis.something',
  ])('reports %s', (text) => {
    expect(check(text)).toHaveLength(1)
  })

  it('accepts members of the same name and dates from values', () => {
    expect(check('const a = b.fetch(new Date(0), { process: 1 })')).toEqual([])
  })
})
