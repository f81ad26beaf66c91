import { describe, expect, it } from 'vitest'
import { NotUnderstood } from './foreign-value.ts'
import { readObservation } from './observation.ts'

const complete = { remoteId: 'r1', status: 'complete', failure: null }
const returned = { code: 'R10', amount: { value: '5.00', currency: 'USD' }, occurredAt: '2026-01-09T10:00:00+01:00' }
const read = { ...returned, occurredAt: '2026-01-09T09:00:00.000Z' }
const transfer = {
  id: 'r1',
  amount: { value: '5', currency: 'USD' },
  source: { valueType: 'USDC', transferType: 'base' },
  destination: { valueType: 'USD', transferType: 'wire' },
  note: null,
  createdAt: '2026-01-01T00:00:00Z',
  updatedAt: '2026-01-01T00:00:00Z',
}

describe('returns of an observation', () => {
  it('are read, also where only the whole transfer has them', () => {
    expect(readObservation({ ...complete, returns: [returned] }).returns).toEqual([read])
    expect(readObservation({ ...complete, transfer: { ...transfer, returns: [returned] } }).returns).toEqual([read])
    // An empty list withdraws what was reported before.
    expect(readObservation({ ...complete, returns: [] }).returns).toEqual([])
    expect('returns' in readObservation({ ...complete, transfer })).toBe(false)
  })

  it.each([
    [
      { code: 'R\0', amount: null },
      { code: 'unknown', amount: null, occurredAt: null },
    ],
    [
      { code: 'R01', amount: { value: '-5', currency: 'USD' } },
      { code: 'R01', amount: null, occurredAt: null },
    ],
    [
      { code: 'R01', amount: { value: '5', currency: 'U\0' } },
      { code: 'R01', amount: null, occurredAt: null },
    ],
    [
      { code: 'R01', occurredAt: 'soon' },
      { code: 'R01', amount: null, occurredAt: null },
    ],
    [
      {
        code: 'R01',
        amount: { value: '740', currency: 'MXN' },
        sourceAmount: { value: '40.000000', currency: 'USDC' },
      },
      {
        ...{ code: 'R01', amount: { value: '740', currency: 'MXN' } },
        ...{ sourceAmount: { value: '40.000000', currency: 'USDC' }, occurredAt: null },
      },
    ],
    [
      { code: 'R01', sourceAmount: { value: '-1', currency: 'USDC' } },
      { code: 'R01', amount: null, occurredAt: null },
    ],
    [{ code: `${'R'.repeat(63)}😀` }, { code: `${'R'.repeat(63)}�`, amount: null, occurredAt: null }],
  ])('are kept with what can be stored of them: %j', (given, kept) => {
    expect(readObservation({ ...complete, returns: [given] }).returns).toEqual([kept])
  })

  it.each([
    ['returns', { ...complete, returns: 'R01' }],
    ['returns', { ...complete, returns: Array.from({ length: 1001 }, () => returned) }],
    ['returns.0', { ...complete, returns: [null] }],
    ['returns.0.code', { ...complete, returns: [{}] }],
    ['transfer.returns.0.code', { ...complete, transfer: { ...transfer, returns: [{}] } }],
  ])('are refused by their member %s', (field, observation) => {
    const call = () => readObservation(observation)
    expect(call).toThrow(NotUnderstood)
    expect(call).toThrow(field)
  })
})

describe('the time of a failure', () => {
  const failed = (occurredAt: string) => ({
    ...{ remoteId: 'r1', status: 'failed' },
    failure: { type: 'returned', code: 'R01', detail: '', occurredAt, retriable: true },
  })

  it.each([
    ['2026-01-05T08:00:00Z', '2026-01-05T08:00:00Z'],
    ['2026-01-05T08:00:00.123456Z', '2026-01-05T08:00:00.123456Z'],
    // Postgres refuses such an offset.
    ['2026-01-05T08:00:00+23:00', '2026-01-04T09:00:00.000Z'],
    ['2026-01-05', '2026-01-05T00:00:00.000Z'],
  ])('%s is read as %s', (given, read) => {
    const unknown: string[] = []
    expect(readObservation(failed(given), '', (field) => unknown.push(field)).failure?.occurredAt).toBe(read)
    expect(unknown).toEqual([])
  })

  it.each(['', 'garbage', 'infinity', '2026-13-01T00:00:00Z', '0000-01-01T00:00:00Z', '+012026-01-01T00:00:00Z'])(
    'that cannot be read is unknown, and the failure counts: %j',
    (given) => {
      const unknown: string[] = []
      const seen = readObservation(failed(given), '', (field) => unknown.push(field))
      expect(seen).toMatchObject({ status: 'failed', failure: { occurredAt: '1970-01-01T00:00:00.000Z' } })
      expect(unknown).toEqual(['failure.occurredAt'])
    },
  )

  it('is never one that the calendar does not have', () => {
    const occurredAt = readObservation(failed('2026-11-31T00:00:00Z')).failure?.occurredAt ?? ''
    expect(new Date(occurredAt).toISOString()).toBe(occurredAt)
  })
})
