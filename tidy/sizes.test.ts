import { describe, expect, it } from 'vitest'
import { readFiles } from './repository.ts'
import { findLongFile, findLongFunctions, maxFileLines, maxFunctionLines } from './sizes.ts'

const files = readFiles()

describe('sizes', () => {
  it(`keep files within ${maxFileLines} lines`, () => {
    expect(files.flatMap(findLongFile)).toEqual([])
  })

  it(`keep functions within ${maxFunctionLines} lines`, () => {
    expect(files.flatMap(findLongFunctions)).toEqual([])
  })
})

describe('the checks of sizes', () => {
  const statements = (count: number) => 'f()\n'.repeat(count)

  it('report a file one line over the limit', () => {
    expect(findLongFile({ path: 'a.ts', text: statements(maxFileLines) })).toEqual([])
    expect(findLongFile({ path: 'a.ts', text: statements(maxFileLines + 1) })).toHaveLength(1)
  })

  it('report a function of SQL one line over the limit, its comment left out', () => {
    const path = 'packages/a/sql/functions/b.sql'
    const fits = '-- Says what it does.\n'.repeat(3) + 'select 1\n'.repeat(maxFunctionLines)
    expect(findLongFunctions({ path, text: fits })).toEqual([])
    expect(findLongFunctions({ path, text: `${fits}select 1` })).toHaveLength(1)
  })

  it('report a function one line over the limit, and not the body of a describe', () => {
    const fits = statements(maxFunctionLines - 2)
    expect(findLongFunctions({ path: 'a.ts', text: `const a = () => {\n${fits}}` })).toEqual([])
    expect(findLongFunctions({ path: 'a.ts', text: `const a = () => {\n${fits}f()\n}` })).toHaveLength(1)
    expect(findLongFunctions({ path: 'a.ts', text: `describe.each([1])('a', () => {\n${fits}f()\n})` })).toEqual([])
  })
})
