import { expect, it } from 'vitest'
import { defaultCatalog } from '../catalog.ts'
import { prepareTransfer } from './enqueueing.ts'

const runtime = {
  clock: { now: () => new Date('2026-01-01T00:00:00Z') },
  random: { bytes: (length: number) => new Uint8Array(length), fraction: () => 0.5 },
  digest: () => new Uint8Array(32),
} as never

const payout = {
  accountId: 'acme',
  amount: { value: '12.50', currency: 'USD' },
  source: { address_id: '01J0000000000000000000000A', value_type: 'USDC', transfer_type: 'base' },
  destination: { address_id: '01J0000000000000000000000B', value_type: 'USD', transfer_type: 'ach_credit' },
}

it.each(['idempotency_key', 'idempotencykey', 'not_before', 'expires_at', 'expiresat', 'notbefore'])(
  'refuses an enqueue with %s, which would be paid again, too early or too late without it',
  (name) => {
    const request = { ...payout, [name]: name.startsWith('idem') ? 'INV-1' : '2026-02-01T00:00:00Z' } as never
    expect(() => prepareTransfer(request, defaultCatalog, runtime, '')).toThrow(
      expect.objectContaining({ field: name }),
    )
  },
)
