import { describe, expect, it } from 'vitest'
import { readFiles } from './repository.ts'
import { findBadWords, findEmptyNames } from './words.ts'

const files = readFiles()

describe('words', () => {
  it('leave nothing unfinished, untested, untyped or tied to one machine', () => {
    expect(files.flatMap(findBadWords)).toEqual([])
  })

  it('name every file and folder after what is in it', () => {
    expect(files.flatMap(findEmptyNames)).toEqual([])
  })
})

describe('the checks of words', () => {
  it.each([
    '// TODO: later',
    `it.only('works', () => {})`,
    `describe.skip('all', () => {})`,
    'const a = b as any',
    '// @ts-ignore',
    'const data = "/home/someone/data"',
    'const host = "https://registry.example.com"',
    'query("SELECT 1")',
  ])('report %s', (text) => {
    expect(findBadWords({ path: 'packages/core/src/a.ts', text })).toHaveLength(1)
  })

  it('accept a route that looks like a path', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the sample is source text
    expect(findBadWords({ path: 'a.ts', text: 'fetch(`${base}/work/items`)' })).toEqual([])
  })

  it('report names that say nothing', () => {
    expect(findEmptyNames({ path: 'packages/core/src/utils/a.ts', text: '' })).toHaveLength(1)
    expect(findEmptyNames({ path: 'packages/core/src/helpers.ts', text: '' })).toHaveLength(1)
    expect(findEmptyNames({ path: 'packages/core/src/amount.ts', text: '' })).toEqual([])
  })
})
