import { expect, test } from 'vitest'
import { decodeFailure } from './transfer-failure.ts'

const at = '2026-01-02T03:05:05.678Z'

test('a failure may be null, a code, a sentence or an object', () => {
  expect(decodeFailure(null, at)).toBeNull()
  expect(decodeFailure(undefined, at)).toBeNull()
  expect(decodeFailure([], at)).toBeNull()
  const unknown = { type: 'unknown', occurredAt: at, retriable: false }
  expect(decodeFailure('account_closed', at)).toEqual({ ...unknown, code: 'account_closed', detail: 'account_closed' })
  expect(decodeFailure('The account is closed.', at)).toEqual({
    ...unknown,
    code: 'unknown',
    detail: 'The account is closed.',
  })
  expect(decodeFailure({ reason: 'closed' }, at)).toMatchObject({ ...unknown, code: 'closed', detail: 'closed' })
  expect(
    decodeFailure(
      {
        type: 'returned',
        code: 'R02',
        detail: 'Account closed',
        occurred_at: '2026-01-01T00:00:00Z',
        retriable: true,
        ach_return: { code: 'R02', reason: 'Account closed', category: 'account' },
      },
      at,
    ),
  ).toEqual({
    type: 'returned',
    code: 'R02',
    detail: 'Account closed',
    occurredAt: '2026-01-01T00:00:00Z',
    retriable: true,
    achReturn: { code: 'R02', reason: 'Account closed', category: 'account' },
  })
})

const unknown = { type: 'unknown', occurredAt: at, retriable: false }

test.each([
  [
    { errors: [{ code: 'account_closed', title: 'Closed', detail: 'The account is closed.' }] },
    'account_closed',
    'The account is closed.',
  ],
  [{ errors: [{ detail: 'First.' }, { detail: 'Second.' }] }, 'unknown', 'First.; Second.'],
  [{ errors: ['account_closed'] }, 'account_closed', 'account_closed'],
  [{ errors: ['The account is closed.'] }, 'unknown', 'The account is closed.'],
  [{ errors: [null, 7] }, 'unknown', 'unknown'],
  [{ type: 'compliance', errors: [] }, 'compliance', 'compliance'],
  [[{ code: 'account_closed' }], 'account_closed', 'account_closed'],
  [{ reason: 'The account is closed.' }, 'unknown', 'The account is closed.'],
])('a failure with a list of errors is read: %j', (failure, code, detail) => {
  expect(decodeFailure(failure, at)).toEqual({ ...unknown, code, detail })
})

const achReturn = { code: 'R03', reason: 'No account', category: 'administrative' }

test('a return by a bank gives the failure its code and its type, where it has none of its own', () => {
  const failure = decodeFailure({ type: 'ach', occurred_at: at, ach_return: achReturn }, at)
  expect(failure).toEqual({ ...unknown, type: 'returned', code: 'R03', detail: 'No account', achReturn })
})

test.each([
  ['specification', 'timeout on chain', false],
  ['public', 'timeout on chain', true],
  ['public', { errors: [{ code: 'nonce_too_low' }] }, true],
  ['public', { type: 'chain', retriable: false }, false],
  ['public', { type: 'chain', retriable: null }, true],
  ['public', { errors: [{ code: 'compliance', retriable: false }] }, false],
  ['public', { type: 'ach', ach_return: achReturn }, false],
  ['specification', { type: 'chain', retriable: true }, true],
] as const)('by the %s, %j is retriable: %s', (dialect, failure, retriable) => {
  expect(decodeFailure(failure, at, dialect)?.retriable).toBe(retriable)
})
