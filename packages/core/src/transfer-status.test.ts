import { describe, expect, it } from 'vitest'
import type { TransferFailure } from './transfer-failure.ts'
import { type StatusState, TransferStatus, transferStatuses } from './transfer-status.ts'

const failure = (retriable: boolean, occurredAt = '2026-11-05T10:00:00Z'): TransferFailure => ({
  type: 'returned',
  code: 'R01',
  detail: 'Insufficient funds',
  occurredAt,
  retriable,
})
const at = (status: StatusState['status'], reachedAt?: string): StatusState => ({
  status,
  failure: null,
  ...(reachedAt === undefined ? {} : { reachedAt }),
})
const failed = (retriable: boolean, occurredAt?: string): StatusState => ({
  status: 'failed',
  failure: failure(retriable, occurredAt),
})

describe('TransferStatus.allows', () => {
  it('is exactly this table', () => {
    const table = [at('pending'), at('processing'), failed(true), failed(false), at('canceled'), at('complete')].map(
      (state) => transferStatuses.filter((to) => TransferStatus.allows(state, to)),
    )
    expect(table).toEqual([
      ['processing', 'failed', 'canceled'],
      ['failed', 'canceled', 'complete'],
      ['processing', 'canceled'],
      [],
      [],
      [],
    ])
  })
})

describe('TransferStatus.isFinal', () => {
  it('holds for complete, canceled and a failure for good', () => {
    expect(TransferStatus.isFinal('pending')).toBe(false)
    expect(TransferStatus.isFinal('processing')).toBe(false)
    expect(TransferStatus.isFinal('failed', failure(true))).toBe(false)
    expect(TransferStatus.isFinal('failed', failure(false))).toBe(true)
    expect(TransferStatus.isFinal('failed')).toBe(true)
    expect(TransferStatus.isFinal('canceled')).toBe(true)
    expect(TransferStatus.isFinal('complete')).toBe(true)
  })
})

describe('TransferStatus.advance', () => {
  it('goes forward, steps in between missing or not', () => {
    expect(TransferStatus.advance(at('pending'), at('processing'))).toEqual(at('processing'))
    expect(TransferStatus.advance(at('pending'), at('complete'))).toEqual(at('complete'))
    expect(TransferStatus.advance(at('processing'), failed(false))).toEqual(failed(false))
  })

  it('ignores what it knows and what came before', () => {
    expect(TransferStatus.advance(at('processing'), at('processing', '2026-11-05T11:00:00Z'))).toBeUndefined()
    expect(TransferStatus.advance(at('processing'), at('pending'))).toBeUndefined()
    expect(TransferStatus.advance(failed(true), failed(true))).toBeUndefined()
    expect(TransferStatus.advance(failed(true), at('pending', '2026-11-06T10:00:00Z'))).toBeUndefined()
  })

  it('stays in a final status whatever is observed', () => {
    for (const end of [at('complete'), at('canceled'), failed(false)]) {
      for (const seen of [
        at('pending'),
        at('processing'),
        at('complete'),
        at('canceled'),
        failed(true),
        failed(false),
      ]) {
        expect(TransferStatus.advance(end, { ...seen, reachedAt: '2030-01-01T00:00:00Z' })).toBeUndefined()
      }
    }
  })

  it('leaves a retriable failure for a final status at once', () => {
    expect(TransferStatus.advance(failed(true), at('complete'))).toEqual(at('complete'))
    expect(TransferStatus.advance(failed(true), failed(false))).toEqual(failed(false))
  })

  it('leaves a retriable failure for processing only when that came later', () => {
    const later = at('processing', '2026-11-05T10:00:01Z')
    expect(TransferStatus.advance(failed(true), later)).toEqual(later)
    expect(TransferStatus.advance(failed(true), at('processing', '2026-11-05T09:59:59Z'))).toBeUndefined()
    expect(TransferStatus.advance(failed(true), at('processing'))).toBeUndefined()
  })

  it('treats a failure as the later one when processing was reached at the same time, whichever is observed first', () => {
    const processing = at('processing', '2026-11-05T10:00:00Z')
    expect(TransferStatus.advance(processing, failed(true))).toEqual(failed(true))
    expect(TransferStatus.advance(failed(true), processing)).toBeUndefined()
  })

  it('reads the time from a whole transfer', () => {
    const seen = { status: 'processing', failure: null, transfer: { updatedAt: '2026-11-05T10:00:01Z' } } as const
    expect(TransferStatus.advance(failed(true), seen)?.status).toBe('processing')
  })

  it('replaces a retriable failure by a later one', () => {
    const again = failed(true, '2026-11-06T10:00:00Z')
    expect(TransferStatus.advance(failed(true), again)).toEqual(again)
    expect(TransferStatus.advance(again, failed(true))).toBeUndefined()
  })

  it('drops a failure that does not belong to the status', () => {
    expect(TransferStatus.advance(at('pending'), { status: 'complete', failure: failure(true) })).toEqual(
      at('complete'),
    )
  })
})

describe('TransferStatus.is', () => {
  it('knows the five', () => {
    expect(transferStatuses.every(TransferStatus.is)).toBe(true)
    expect(TransferStatus.is('completed')).toBe(false)
    expect(TransferStatus.is(undefined)).toBe(false)
  })
})
