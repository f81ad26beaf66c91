import { describe, expect, it } from 'vitest'
import type { Transfer } from '../transfer.ts'
import { readPaid } from './paid-amount.ts'

const known = { value: '12.50', currency: 'USD' }
const leg = { valueType: 'USD', transferType: 'wire' }
const transfer = (value: string, more: Partial<Transfer> = {}): Transfer => ({
  ...{ id: 'remote-1', status: 'complete', failure: null, amount: { value, currency: 'USD' }, note: null },
  ...{ source: leg, destination: leg, createdAt: '2026-01-09T09:00:00Z', updatedAt: '2026-01-09T10:00:00Z' },
  ...more,
})

describe('what an observation says that was paid', () => {
  it('is the same amount however it is written, or another one, and since when', () => {
    const changedAt = '2026-01-09T10:00:00.000Z'
    expect(readPaid(known, { status: 'complete', transfer: transfer('12.5') })).toEqual({
      ...{ paid: { amount: { value: '12.5', currency: 'USD' }, changedAt }, isOther: false },
    })
    expect(readPaid(known, { status: 'complete', transfer: transfer('6') })).toMatchObject({ isOther: true })
    const unread = { value: '1,234', currency: 'USD' }
    expect(readPaid(unread, { status: 'complete', transfer: transfer('1234') })).toMatchObject({ isOther: true })
  })

  it.each([
    ['2026-01-09T11:00:00Z', '2026-01-09T11:00:00.000Z'],
    ['2026-01-09T09:00:00Z', '2026-01-09T10:00:00.000Z'],
    ['soon', '2026-01-09T10:00:00.000Z'],
    [undefined, '2026-01-09T10:00:00.000Z'],
  ])('counts from the later time: complete at %s', (reachedAt, changedAt) => {
    const reading = readPaid(known, { status: 'complete', reachedAt, transfer: transfer('6') })
    expect(reading?.paid?.changedAt).toBe(changedAt)
  })

  it('is nothing before the end or without a transfer, and unknown where nobody can compare it', () => {
    expect(readPaid(known, { status: 'processing', transfer: transfer('6') })).toBeUndefined()
    expect(readPaid(known, { status: 'complete' })).toBeUndefined()
    const euro = transfer('6', { amount: { value: '6', currency: 'EUR' } })
    expect(readPaid(known, { status: 'complete', transfer: euro })).toEqual({ paid: null, why: 'other_currency' })
    expect(readPaid(known, { status: 'complete', transfer: transfer('+6') })).toEqual({
      ...{ paid: null, why: 'unreadable' },
    })
  })
})
