import { errorCodes, OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { parameterError, problemOf, statusOf } from './problem.ts'

it('answers every code with a 4xx, or with 503 where the service is not ready', () => {
  for (const code of errorCodes) expect([400, 401, 403, 404, 409, 422, 429, 503]).toContain(statusOf(code))
})

it('points at each broken member, in the caller’s own spelling', () => {
  const error = OutlayError.fromIssues([
    { field: 'destination.wire_memo', code: 'wire_memo_too_long', message: 'must be at most 140 characters' },
    { field: 'amount.value', code: 'invalid_amount', message: 'must be a decimal' },
  ])
  const { problem } = problemOf(error, 'r1')
  expect(problem).toMatchObject({ status: 422, code: 'wire_memo_too_long', request_id: 'r1' })
  expect(problem.message).toBe(problem.detail)
  expect(problem.errors).toEqual([
    {
      code: 'wire_memo_too_long',
      status: '422',
      title: 'The request cannot be processed',
      detail: 'must be at most 140 characters',
      source: { pointer: '/destination/wire_memo' },
    },
    expect.objectContaining({ source: { pointer: '/amount/value' } }),
  ])
})

it('names a query parameter as such', () => {
  const { problem } = problemOf(parameterError('page[size]', 'The page size is 1 to 100.'), 'r1')
  expect(problem.errors[0]?.source).toEqual({ parameter: 'page[size]' })
})

it('gives nothing away about an unexpected error', () => {
  const { problem, unexpected } = problemOf(new Error('relation "client" does not exist'), 'r1')
  expect(unexpected).toBe(true)
  expect(problem.status).toBe(500)
  expect(JSON.stringify(problem)).not.toContain('relation')
})

it('passes the wait of a rate limit on, in whole seconds', () => {
  expect(problemOf(new OutlayError('rate_limited', 'Slower.', { retryAfterMs: 1_200 }), 'r').headers).toEqual({
    'retry-after': '2',
  })
})

it('names a hundred broken rules at most', () => {
  const [first, ...rest] = Array.from({ length: 1_000 }, (_, at) => ({
    ...{ field: `items.${at}`, code: 'invalid_request' as const, message: 'must be a string' },
  }))
  if (first === undefined) throw new Error('There is none.')
  const { problem } = problemOf(OutlayError.fromIssues([first, ...rest]), 'r1')
  expect(problem.errors).toHaveLength(100)
  expect(problem.errors[99]?.source).toEqual({ pointer: '/items/99' })
})
