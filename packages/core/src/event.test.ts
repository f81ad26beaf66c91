import { describe, expect, it } from 'vitest'
import { eventOfChange, eventTypes, statusEvent, statusEvents, webhookEventTypes } from './event.ts'
import type { TransferFailure } from './transfer-failure.ts'
import type { TransferStatus } from './transfer-status.ts'

const state = (status: TransferStatus, failure: TransferFailure | null = null) => ({ status, failure })
const failure = (occurredAt: string, retriable: boolean): TransferFailure => ({
  type: 'returned',
  code: 'R01',
  detail: '',
  occurredAt,
  retriable,
})

describe('eventOfChange', () => {
  it('has one event for every status but pending', () => {
    expect(eventOfChange(state('pending'), state('processing'))).toBe('transfer.processing')
    expect(eventOfChange(state('processing'), state('complete'))).toBe('transfer.completed')
    expect(eventOfChange(state('pending'), state('canceled'))).toBe('transfer.canceled')
    expect(eventOfChange(state('processing'), state('processing'))).toBeUndefined()
    expect(eventOfChange(state('pending'), state('pending'))).toBeUndefined()
  })

  it('has another event for a failure that is new or has become final', () => {
    const first = state('failed', failure('2026-01-01T00:00:00Z', true))
    expect(eventOfChange(state('processing'), first)).toBe('transfer.failed')
    expect(eventOfChange(first, first)).toBeUndefined()
    expect(eventOfChange(first, state('failed', failure('2026-01-02T00:00:00Z', true)))).toBe('transfer.failed')
    expect(eventOfChange(first, state('failed', failure('2026-01-01T00:00:00Z', false)))).toBe('transfer.failed')
    expect(eventOfChange(first, state('failed'))).toBe('transfer.failed')
    expect(eventOfChange(state('failed'), state('failed'))).toBeUndefined()
  })

  it('has no event for a failure that does not belong to the status', () => {
    const stale = state('processing', failure('2026-01-01T00:00:00Z', true))
    expect(eventOfChange(stale, state('processing'))).toBeUndefined()
    expect(eventOfChange(state('processing'), stale)).toBeUndefined()
  })
})

describe('event types', () => {
  it('has each status event on both sides', () => {
    for (const type of Object.values(statusEvents)) {
      expect(eventTypes).toContain(type)
      expect(webhookEventTypes).toContain(type)
    }
    expect(statusEvent('complete')).toBe('transfer.completed')
    expect(statusEvent('pending')).toBe('transfer.submitted')
  })
})
