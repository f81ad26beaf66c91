import { describe, expect, it } from 'vitest'
import { serviceCases, specificationSections } from '../packages/testing/src/conformance/cases.ts'
import { readFiles } from './repository.ts'
import { findCoverageGaps, readCoverage } from './spec-coverage.ts'

const files = readFiles()
const map = files.find(({ path }) => path === 'docs/spec-coverage.md')?.text ?? ''
const caseNames = serviceCases.map(({ name }) => name)

describe('the coverage of the specification', () => {
  it('has a test for every section, and names tests that exist', () => {
    const rows = readCoverage(map)
    expect(rows.length).toBeGreaterThan(50)
    expect(findCoverageGaps(rows, specificationSections, caseNames, files)).toEqual([])
  })

  it('names no case of the suite twice', () => {
    expect(caseNames.filter((name, at) => caseNames.indexOf(name) !== at)).toEqual([])
  })
})

describe('the check of the coverage', () => {
  const table = (cell: string) => `## A\n\n### B\n\n| Statement | Tests |\n|---|---|\n| says so | ${cell} |\n`
  const file = { path: 'a.test.ts', text: "it('exists', () => {})" }
  const gaps = (cell: string, cases = ['a case']) =>
    findCoverageGaps(readCoverage(table(cell)), ['A: B'], cases, [file])

  it('accepts cases, and tests of files', () => {
    expect(gaps('*a case*<br>`a.test.ts` *exists*')).toEqual([])
  })

  it('reports a statement without a test, and a section without one', () => {
    expect(gaps('', [])).toEqual(['A: B: no test', 'says so: no test'])
  })

  it('reports a test that does not exist', () => {
    expect(gaps('*another*', [])).toEqual(['another: no such case'])
    expect(gaps('`a.test.ts` *is gone*', [])).toEqual(['a.test.ts: no test "is gone"'])
    expect(gaps('`b.test.ts` *exists*', [])).toEqual(['b.test.ts: no such file'])
  })

  it('reports a case that the map does not name', () => {
    expect(gaps('`a.test.ts` *exists*')).toEqual(['a case: not in the map'])
  })
})
