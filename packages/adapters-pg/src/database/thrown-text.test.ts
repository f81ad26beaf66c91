import { expect, it } from 'vitest'
import { thrownAt } from './thrown-text.ts'

/** An error with a stack of these lines. */
function thrown(message: string, ...frames: readonly string[]): Error {
  const error = new Error(message)
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n')
  return error
}

it('the place of an error is the first one in code of the host', () => {
  const driver = 'Client.query (/app/node_modules/pg/lib/client.js:1:2)'
  const own = 'async settle (file:///app/src/invoices.ts:32:15)'
  expect(thrownAt(thrown('no', driver, 'process (node:internal/x:1:2)', own))).toBe(
    'settle (file:///app/src/invoices.ts:32:15)',
  )
  expect(thrownAt(thrown('no', '/app/src/invoices.js:7:1'))).toBe('/app/src/invoices.js:7:1')
  expect(thrownAt(thrown('no', driver))).toBeUndefined()
})

it('a message is no place, and neither is what is no error', () => {
  expect(thrownAt(thrown('secret\n    at a (/secret/b.ts:1:1)'))).toBeUndefined()
  expect(thrownAt('no')).toBeUndefined()
  expect(thrownAt(Object.assign(new Error('no'), { stack: undefined }))).toBeUndefined()
  const hostile = Object.defineProperty(new Error('no'), 'stack', {
    get: () => {
      throw new Error('never')
    },
  })
  expect(thrownAt(hostile)).toBeUndefined()
})
