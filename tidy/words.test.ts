import { describe, expect, it } from 'vitest'
import { readFiles } from './repository.ts'
import { findBadWords, findEmptyNames, findRetiredNames, findRetiredProse } from './words.ts'

const files = readFiles()

describe('words', () => {
  it('leave nothing unfinished, untested, untyped or tied to one machine', () => {
    expect(files.flatMap(findBadWords)).toEqual([])
  })

  it('name every file and folder after what is in it', () => {
    expect(files.flatMap(findEmptyNames)).toEqual([])
  })

  it('name everything by the terms of the glossary', () => {
    expect(files.flatMap(findRetiredNames)).toEqual([])
  })

  it('explain everything by the terms of the glossary', () => {
    expect(files.flatMap(findRetiredProse)).toEqual([])
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

  it.each([
    ['a.ts', 'const nextLookAt = 1'],
    ['a.ts', 'export interface Pacer {}'],
    ['a.ts', 'const told = []'],
    ['a.ts', 'interface Lane {}'],
    ['a.sql', 'select t.sight_at from transfer t'],
    ['page-teller.ts', ''],
  ])('report the retired word in %s "%s"', (path, text) => {
    expect(findRetiredNames({ path, text })).toHaveLength(1)
  })

  it.each([
    ['a.ts', '// looks it up\nconst lookup = executeTakeFirst(workspace)'],
    ['a.sql', `-- told\nselect 'told' as note`],
  ])('accept what only sounds like one in %s "%s"', (path, text) => {
    expect(findRetiredNames({ path, text })).toEqual([])
  })

  it.each([
    ['a.md', 'The host is told of it.'],
    ['CHANGELOG.md', '- Hosts are told of it.'],
    ['a.ts', '// Looks at each account.'],
    ['a.sql', '-- Parks the job.'],
  ])('report the retired word in the prose of %s "%s"', (path, text) => {
    expect(findRetiredProse({ path, text })).toHaveLength(1)
  })

  it.each([
    ['a.md', 'It looks up the following rows, which look like others, and follows each link.'],
    ['docs/glossary.md', 'told'],
    ['CHANGELOG.md', '| `look()` | `poll()` |'],
    ['a.json', '"told"'],
  ])('accept the prose of %s "%s"', (path, text) => {
    expect(findRetiredProse({ path, text })).toEqual([])
  })

  it('report names that say nothing', () => {
    expect(findEmptyNames({ path: 'packages/core/src/utils/a.ts', text: '' })).toHaveLength(1)
    expect(findEmptyNames({ path: 'packages/core/src/helpers.ts', text: '' })).toHaveLength(1)
    expect(findEmptyNames({ path: 'packages/core/src/amount.ts', text: '' })).toEqual([])
  })
})
