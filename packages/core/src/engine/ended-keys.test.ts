import { describe, expect, it } from 'vitest'
import type { EnqueuedTransfer } from '../ports/stored-transfer.ts'
import { noticeEnded } from './ended-keys.ts'

const transfer = (id: string, overrides: Partial<EnqueuedTransfer>) =>
  ({ id, reused: true, stage: 'settled', status: 'canceled', ...overrides }) as EnqueuedTransfer

/** What the log warned of, and the notices. */
function notice(...transfers: readonly EnqueuedTransfer[]) {
  const warned: unknown[] = []
  const logger = { debug() {}, info() {}, error() {}, warn: (...line: unknown[]) => void warned.push(line) }
  const noticed = noticeEnded(transfers, logger)
  expect(noticed.map(({ id }) => id)).toEqual(transfers.map(({ id }) => id))
  return { warned, notices: noticed.map((one) => one.notice) }
}

describe('a key that is used again', () => {
  it('says that it stands for a canceled transfer, and how to pay again', () => {
    const { warned, notices } = notice(transfer('a', {}))
    const sentence =
      'The idempotency key stands for the transfer a, which was canceled; nothing was enqueued. To pay again, call transfers.resubmit(tx, id), or enqueue with a new key.'
    expect(notices).toEqual([sentence])
    expect(warned).toEqual([[{ transferIds: ['a'], count: 1 }, sentence]])
    expect(notice(transfer('a', { status: 'failed' })).notices[0]).toContain('which has failed')
  })

  it('says by which transfer it was paid again, and not how to pay a third time', () => {
    const sentence =
      'The idempotency key stands for the transfer a, which was canceled; nothing was enqueued. It was resubmitted as b: see that transfer for its payment.'
    expect(notice(transfer('a', { resubmittedAs: 'b' })).notices).toEqual([sentence])
    const { warned } = notice(transfer('a', { resubmittedAs: 'b' }), transfer('c', { resubmittedAs: 'd' }))
    expect(warned).toEqual([[expect.anything(), expect.stringContaining('Some were resubmitted')]])
  })

  it.each([
    ['is new', { reused: false, stage: 'queued', status: 'pending' }],
    ['is under way', { stage: 'submitted', status: 'processing' }],
    ['has failed and may continue', { stage: 'submitted', status: 'failed' }],
    ['has paid', { status: 'complete' }],
  ] as const)('says nothing of a transfer that %s', (_, overrides) => {
    expect(notice(transfer('a', overrides))).toEqual({ warned: [], notices: [undefined] })
  })

  it('warns once of many, and gives each its own notice', () => {
    const many = Array.from({ length: 7 }, (_, index) => transfer(`t${index}`, {}))
    const { warned, notices } = notice(transfer('new', { reused: false }), ...many)
    expect(warned).toEqual([
      [{ transferIds: ['t0', 't1', 't2', 't3', 't4'], count: 7 }, expect.stringContaining('7 idempotency keys stand')],
    ])
    expect(notices.map((one) => one?.includes('canceled') ?? false)).toEqual([false, ...many.map(() => true)])
  })
})
