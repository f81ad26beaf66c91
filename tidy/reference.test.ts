import { expect, it } from 'vitest'
import { fillGenerated, partlyGenerated, writeReference } from '../scripts/reference/pages.ts'
import { readFiles } from './repository.ts'

const files = readFiles()
const stale = 'run `npx -y pnpm@12 reference`'

it('the reference is what the code says', () => {
  const written = writeReference()
  const kept = files.filter(({ path }) => path.startsWith('docs/reference/'))
  expect(kept.map(({ path }) => path).sort(), stale).toEqual([...written.keys()].sort())
  expect(
    kept.filter(({ path, text }) => written.get(path) !== text).map(({ path }) => path),
    stale,
  ).toEqual([])
})

it('the generated parts of other documents are what the code says', () => {
  const marked = files.filter(({ path, text }) => path.endsWith('.md') && text.includes('<!-- generated-begin: '))
  expect(marked.map(({ path }) => path)).toEqual(partlyGenerated)
  expect(
    marked.filter(({ text }) => fillGenerated(text) !== text).map(({ path }) => path),
    stale,
  ).toEqual([])
})

it('a document with another diagram than the code is found', () => {
  const marked = (inside: string) =>
    `a\n<!-- generated-begin: engine-stages -->\n${inside}\n<!-- generated-end -->\nb\n`
  expect(fillGenerated(marked('old'))).toBe(fillGenerated(marked('older')))
  expect(fillGenerated(marked('old'))).toContain('queued --> submitting')
  expect(() => fillGenerated(marked('old').replace('engine-stages', 'nothing'))).toThrow('Nothing is generated')
})
