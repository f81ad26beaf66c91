import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

/** Without indentation and blank lines, so that an excerpt may stand on its own. */
const normalize = (code: string): string =>
  code
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')

test('the code of the guide is the code of this example, which runs', () => {
  const sources = readdirSync(new URL('.', import.meta.url))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => normalize(read(name)))
  const blocks = [...read('../../../docs/guides/nestjs.md').matchAll(/```ts\n([\s\S]*?)```/g)]
  const excerpts = blocks.map(([, code = '']) => normalize(code))
  expect(excerpts.length).toBeGreaterThan(3)
  expect(excerpts.filter((excerpt) => !sources.some((source) => source.includes(excerpt)))).toEqual([])
})
