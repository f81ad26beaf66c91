import { describe, expect, it } from 'vitest'
import { transferTransitions } from '../packages/core/src/transfer-status.ts'

import { findBrokenLinks, findMissingPlaces, findUnprovenThreats, isDocument, readTransitions } from './documents.ts'

import { readFiles } from './repository.ts'

const files = readFiles()
const paths = files.map((file) => file.path)
const documents = files.filter(isDocument)

describe('documents', () => {
  it('link to what is there', () => {
    expect(documents.flatMap((file) => findBrokenLinks(file, paths))).toEqual([])
  })

  it('name places that are there', () => {
    expect(documents.flatMap((file) => findMissingPlaces(file, paths))).toEqual([])
  })

  it('name a test for every threat', () => {
    expect(documents.filter(({ path }) => path === 'SECURITY.md').flatMap(findUnprovenThreats)).toEqual([])
    expect(documents.map(({ path }) => path)).toContain('SECURITY.md')
  })

  it('draw the statuses of a transfer as the transition table has them', () => {
    const drawn = readTransitions(files.find((file) => file.path === 'ARCHITECTURE.md')?.text ?? '', 'complete')
    const table = Object.entries(transferTransitions).flatMap(([from, next]) => next.map((to) => `${from} → ${to}`))
    expect(drawn).toEqual(table.sort())
  })
})

describe('the checks of documents', () => {
  const document = (text: string) => ({ path: 'docs/a.md', text })

  it('report a link that leads nowhere', () => {
    expect(
      findBrokenLinks(document('[b](b.md), [c](../c#d), [e](https://example.com)'), ['docs/b.md', 'c/f.ts']),
    ).toEqual([])
    expect(findBrokenLinks(document('[b](b.md)'), ['b.md'])).toHaveLength(1)
  })

  it('report a place that is not there', () => {
    expect(findMissingPlaces(document('see `tidy/` and `packages/core/src/a.ts`'), ['tidy/b.ts'])).toHaveLength(1)
  })

  it('report a threat without a test, and a proof that is none', () => {
    const table = (proof: string) =>
      document(`## Threat model\n\n| who | what |\n| --- | --- |\n| a | b | c | ${proof} |\n`)
    expect(findUnprovenThreats(table('`e2e/src/a.test.ts`, `packages/b/src/c.pg.test.ts`'))).toEqual([])
    for (const proof of ['', 'trust', '`e2e/src/a.ts`']) expect(findUnprovenThreats(table(proof))).toHaveLength(1)
    expect(findUnprovenThreats(document('nothing'))).toHaveLength(1)
  })

  it('read the arrows of a diagram, without its ends', () => {
    const text = '```mermaid\nstateDiagram-v2\n  [*] --> b\n  b --> a: once\n  a --> [*]\n```'
    expect(readTransitions(text, 'a')).toEqual(['b → a'])
  })
})
