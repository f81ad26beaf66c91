import { expect, it } from 'vitest'
import { pinoLogger } from './logging.ts'

const lines: string[] = []
const logger = pinoLogger({ destination: { write: (line) => void lines.push(line) }, base: { name: 'test' } })
const last = () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>

it('writes one line of JSON with level, time, message and fields', () => {
  logger.warn({ requestId: 'r1', status: 422 }, 'A request was answered.')
  expect(last()).toMatchObject({
    level: 'warn',
    name: 'test',
    msg: 'A request was answered.',
    requestId: 'r1',
    status: 422,
    time: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T.*Z$/),
  })
  expect(lines.at(-1)?.endsWith('\n')).toBe(true)
})

it('writes nothing below its level', () => {
  const before = lines.length
  logger.debug({}, 'Hidden.')
  expect(lines).toHaveLength(before)
})

it.each([
  { authorization: 'Bearer canary' },
  { headers: { Authorization: 'Bearer canary', cookie: 'canary' } },
  { client_secret: 'canary', clientSecret: 'canary', access_token: 'canary' },
  { owners: [{ ssn: 'canary' }], ein: 'canary' },
  { a: { b: { c: { accountNumber: 'canary', routing_number: 'canary' } } } },
  { a: { b: { c: { d: { e: { f: { g: { h: 'canary' } } } } } } } },
])('never writes the value of %j', (fields) => {
  logger.error(fields, 'Something.')
  expect(lines.at(-1)).not.toContain('canary')
  expect(last()['msg']).toBe('Something.')
})

it('reduces an error to its name and message', () => {
  logger.error({ error: new TypeError('broken') }, 'Something.')
  expect(last()['error']).toEqual({ name: 'TypeError', message: 'broken' })
})
