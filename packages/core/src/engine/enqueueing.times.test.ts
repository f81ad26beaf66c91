import { expect, it } from 'vitest'
import { defaultCatalog } from '../catalog.ts'
import { Id } from '../id.ts'
import type { EnqueueRequest } from './engine.ts'
import { prepareTransfer } from './enqueueing.ts'

const naming = { digest: (text: string) => text, nextId: () => Id.lowest(new Date('2026-01-01T00:00:00Z')) }

const prepare = (times: Partial<EnqueueRequest>) =>
  prepareTransfer(
    {
      accountId: 'acme',
      amount: { value: '12.50', currency: 'USD' },
      source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
      destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
      ...times,
    } as EnqueueRequest,
    defaultCatalog,
    naming,
    '3.',
  )

const seconds = Date.parse('2026-02-01T00:00:00Z') / 1_000

it.each<[string, string, Partial<EnqueueRequest>]>([
  ['a start in seconds', 'notBefore', { notBefore: new Date(seconds) }],
  ['an end in seconds', 'expiresAt', { expiresAt: new Date(seconds) }],
  ['a start in seconds, as a text', 'notBefore', { notBefore: new Date(seconds).toISOString() }],
  ['a start in no time', 'notBefore', { notBefore: new Date(0) }],
  ['a start that is the zero of another language', 'notBefore', { notBefore: '0001-01-01T00:00:00Z' }],
  ['an end before its start', 'expiresAt', { notBefore: '2026-02-01T00:00:00Z', expiresAt: '2026-01-31T00:00:00Z' }],
  ['an end at its start', 'expiresAt', { notBefore: '2026-02-01T00:00:00Z', expiresAt: '2026-02-01T01:00:00+01:00' }],
])('refuses a payout with times that no host can mean: %s', (_, field, times) => {
  expect(() => prepare(times)).toThrow(expect.objectContaining({ code: 'invalid_request', field: `3.${field}` }))
})

it.each([
  [
    '2026-02-01T09:00:00',
    'has no time zone; write 2026-02-01T09:00:00Z for UTC, or its offset, such as 2026-02-01T09:00:00-05:00',
  ],
  ['2026-02-01', 'must be a date and time in ISO 8601 with Z or an offset'],
  ['tomorrow', 'must be a date and time in ISO 8601 with Z or an offset'],
])('says what to write instead of %s', (notBefore, sentence) => {
  expect(() => prepare({ notBefore })).toThrow(sentence)
})

it('takes times that are over, and an end just after the start', () => {
  const times = { notBefore: '2020-02-01T00:00:00.000Z', expiresAt: '2020-02-01T00:00:00.001Z' }
  expect(prepare(times)).toMatchObject(times)
})
