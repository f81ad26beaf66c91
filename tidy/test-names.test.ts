import { describe, expect, it } from 'vitest'
import { readFiles } from './repository.ts'
import { findStrayTests } from './test-names.ts'

describe('names of tests', () => {
  it('begin with the source or folder that they test', () => {
    expect(findStrayTests(readFiles())).toEqual([])
  })
})

describe('the check of names of tests', () => {
  const found = (...paths: readonly string[]) =>
    findStrayTests(paths.map((path) => ({ path: `packages/a/src/${path}`, text: '' })))

  it('reports a test that stands beside no source and no folder of its name', () => {
    expect(found('b/c.ts', 'b/c.test.ts', 'b/c.late.pg.test.ts', 'b.every.pg.test.ts', 'b.test-d.ts')).toEqual([])
    expect(found('b/c.ts', 'b/d.test.ts')).toHaveLength(1)
    expect(found('b/c.ts', 'b/b.pg.test.ts')).toHaveLength(1)
    expect(found('c.ts', 'b/c.test.ts', 'b/c.test-d.ts')).toHaveLength(2)
  })

  it('allows a test of a whole package in its top folder, and no scenario of nothing', () => {
    expect(found('c.ts', 'restart.pg.test.ts', 'names.property.test.ts')).toEqual([])
    expect(found('c.ts', 'd.late.pg.test.ts')).toHaveLength(1)
  })
})
