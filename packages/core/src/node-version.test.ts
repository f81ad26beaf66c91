import { expect, test } from 'vitest'
import { explainVersion } from './node-version.ts'

test.each([
  [{ node: '22.19.0' }],
  [{ node: '22.20.1' }],
  [{ node: '24.0.0' }],
  [{ node: '26.0.0-nightly20260101' }],
  [{ node: '24.3.0', bun: '1.4.0' }],
  [{ node: '18.0.0', bun: '1.10.2' }],
  [{ node: '20.11.1', deno: '2.9.0' }],
  [{}],
  [undefined],
])('nothing is refused on %o', (versions) => {
  expect(explainVersion(versions)).toBeUndefined()
})

test.each([
  [{ node: '22.18.0' }, 'Outlay needs Node 22.19 or later, and this is Node 22.18.0.'],
  [{ node: '20.20.2' }, 'Outlay needs Node 22.19 or later, and this is Node 20.20.2.'],
  [{ node: '9.30.0' }, 'Outlay needs Node 22.19 or later, and this is Node 9.30.0.'],
  [{ node: '24.3.0', bun: '1.2.23' }, 'Outlay needs Bun 1.4 or later, and this is Bun 1.2.23.'],
  [{ node: '24.3.0', deno: '1.46.3' }, 'Outlay needs Deno 2.9 or later, and this is Deno 1.46.3.'],
])('%o is refused in a sentence', (versions, sentence) => {
  expect(explainVersion(versions)).toBe(sentence)
})
