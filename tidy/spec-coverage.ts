import type { File, Finding } from './repository.ts'

/** One statement of the specification with the tests that prove it. */
export interface CoverageRow {
  /** Heading of the section; a part of a section comes after a colon. */
  readonly section: string
  readonly statement: string
  readonly tests: readonly CoveringTest[]
}

/** A test that is named: in a file, or a case of the conformance suite when there is no file. */
export interface CoveringTest {
  readonly file: string | undefined
  readonly title: string
}

/** Reads the tables of the coverage map. */
export const readCoverage = (text: string): readonly CoverageRow[] => {
  const rows: CoverageRow[] = []
  let [chapter, section] = ['', '']
  for (const line of text.split('\n')) {
    const heading = /^(##|###) (.+)$/.exec(line)
    if (heading !== null) {
      const [, level = '', name = ''] = heading
      if (level === '##') chapter = name
      section = level === '##' ? name : `${chapter}: ${name}`
    }
    const [, statement, tests] = /^\| (.+?) \| (.*) \|$/.exec(line) ?? []
    if (statement === undefined || tests === undefined || statement === 'Statement') continue
    rows.push({ section, statement, tests: readTests(tests) })
  }
  return rows
}

const readTests = (cell: string): readonly CoveringTest[] =>
  cell.split('<br>').flatMap((text) => {
    const [, file, title] = /^(?:`([^`]+)` )?\*(.+)\*$/.exec(text.trim()) ?? []
    return title === undefined ? [] : [{ file, title }]
  })

/** Finds sections without a test, statements without a test, tests that do not exist, and cases that are not named. */
export const findCoverageGaps = (
  rows: readonly CoverageRow[],
  sections: readonly string[],
  caseNames: readonly string[],
  files: readonly File[],
): readonly Finding[] => {
  const names = new Set(caseNames)
  const named = new Set(rows.flatMap(({ tests }) => tests.flatMap(({ file, title }) => (file ? [] : [title]))))
  const covered = new Set(rows.filter(({ tests }) => tests.length > 0).map(({ section }) => section))
  return [
    ...sections.filter((section) => !covered.has(section)).map((section) => `${section}: no test`),
    ...[...covered].filter((one) => !sections.includes(one)).map((one) => `${one}: not a section`),
    ...rows.filter(({ tests }) => tests.length === 0).map(({ statement }) => `${statement}: no test`),
    ...rows.flatMap(({ tests }) => tests).flatMap((test) => findMissingTest(test, names, files)),
    ...caseNames.filter((name) => !named.has(name)).map((name) => `${name}: not in the map`),
  ]
}

const findMissingTest = (
  { file, title }: CoveringTest,
  caseNames: ReadonlySet<string>,
  files: readonly File[],
): readonly Finding[] => {
  if (file === undefined) return caseNames.has(title) ? [] : [`${title}: no such case`]
  const text = files.find(({ path }) => path === file)?.text
  if (text === undefined) return [`${file}: no such file`]
  return ["'", '"', '`'].some((quote) => text.includes(`${quote}${title}${quote}`))
    ? []
    : [`${file}: no test "${title}"`]
}
