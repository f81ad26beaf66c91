import { AssertionError } from 'node:assert'
import type { StoredTransfer } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { assertMatches, matchEnqueued } from './enqueued.ts'

const stored = (id: string, value: string, note?: string): StoredTransfer => ({
  id,
  accountId: 'acme',
  gateway: 'default',
  idempotencyKey: `key-${id}`,
  fingerprint: '',
  request: {
    amount: { value, currency: 'USD' },
    source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: 'bank', valueType: 'USD', transferType: 'wire', wireMemo: 'INV-1' },
    note,
  },
  notBefore: null,
  expiresAt: null,
  stage: 'queued',
  status: 'pending',
  failure: null,
  remoteId: null,
  attempt: 0,
  reason: null,
  createdAt: '2026-01-05T15:00:00.000Z',
  updatedAt: '2026-01-05T15:00:00.000Z',
})
const transfers = [stored('a', '12.50'), stored('b', '99', 'rent')]

describe('a match of enqueued transfers', () => {
  it.each([
    [{}, ['a', 'b']],
    [{ accountId: 'acme' }, ['a', 'b']],
    [{ accountId: 'other' }, []],
    [{ amount: '12.5' }, ['a']],
    [{ amount: { value: '99.00', currency: 'USD' } }, ['b']],
    [{ amount: { currency: 'MXN' } }, []],
    [{ destination: { transferType: 'wire', wireMemo: 'INV-1' } }, ['a', 'b']],
    [{ source: { addressId: 'bank' } }, []],
    [{ note: 'rent', stage: 'queued', status: 'pending' }, ['b']],
    [{ idempotencyKey: 'key-a', note: undefined }, ['a']],
  ] as const)('%j finds %j', (match, ids) => {
    expect(matchEnqueued(transfers, match).map(({ id }) => id)).toEqual(ids)
  })
})

describe('an assertion about enqueued transfers', () => {
  const failure = (match: Parameters<typeof assertMatches>[1], count: number, of = transfers): AssertionError => {
    try {
      assertMatches(of, match, count)
    } catch (error) {
      if (error instanceof AssertionError) return error
      throw error
    }
    throw new Error('It held.')
  }

  it('returns the transfers that match', () => {
    expect(assertMatches(transfers, { note: 'rent' }, 1).map(({ id }) => id)).toEqual(['b'])
    expect(assertMatches(transfers, { note: 'food' }, 0)).toEqual([])
  })

  it('lists how the nearest ones differ, the nearest first', () => {
    const { message, expected, actual } = failure({ amount: '12.5', note: 'rent', accountId: 'acme' }, 1)
    expect(message.split('\n')).toEqual([
      'One transfer should be enqueued with',
      '  note: "rent"',
      '  accountId: "acme"',
      '  amount.value: "12.5"',
      'but none is. The nearest:',
      '  a (key key-a)',
      '    note is undefined, not "rent"',
      '  b (key key-b)',
      '    amount.value is "99", not "12.5"',
    ])
    expect(expected).toEqual([{ accountId: 'acme', 'amount.value': '12.5', note: 'rent' }])
    expect(actual).toHaveLength(2)
  })

  it('says that nothing is enqueued, or too much', () => {
    expect(failure({ note: 'rent' }, 1, []).message).toMatch(/nothing is enqueued/)
    expect(failure({ accountId: 'acme' }, 1).message).toMatch(/but 2 are:\n {2}a\n {2}b$/)
  })
})
