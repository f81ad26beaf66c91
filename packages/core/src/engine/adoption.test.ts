import { describe, expect, it } from 'vitest'
import { Id } from '../id.ts'
import { fingerprint, IdempotencyKey } from '../idempotency.ts'
import type { Observation } from '../ports/gateway.ts'
import type { Transfer } from '../transfer.ts'
import { describeFound, isAdopted } from './adoption.ts'

const runtime = {
  clock: { now: () => new Date('2026-01-05T12:00:00Z') },
  random: { bytes: (length: number) => new Uint8Array(length), fraction: () => 0 },
}
const deposit: Transfer = {
  id: 'remote-1',
  status: 'pending',
  failure: null,
  amount: { value: '250.00', currency: 'USD' },
  source: { financialInstitutionId: 'virtual', valueType: 'USD', transferType: 'wire' },
  destination: { addressId: 'wallet', valueType: 'USDC', transferType: 'base', transactionId: '0xabc' },
  note: null,
  createdAt: '2026-01-05T11:59:00Z',
  updatedAt: '2026-01-05T11:59:30Z',
  automationId: 'automation',
}
const seen = (overrides: Partial<Transfer> = {}): Observation => {
  const transfer = { ...deposit, ...overrides }
  return { remoteId: transfer.id, status: transfer.status, failure: transfer.failure, transfer }
}

describe('a transfer that is adopted from the service', () => {
  it.each(['1,234.50', '', '$5', '1e400000', 'NaN', '-1', '٦'])('has a problem with the amount %j', (value) => {
    const found = describeFound(seen({ amount: { value, currency: 'USD' } }), 'default', runtime)
    expect(found?.problem).toContain('Its amount cannot be read')
    expect(describeFound(seen(), 'default', runtime)).not.toHaveProperty('problem')
  })

  it('gets a row with the request that must have led to it', () => {
    const found = describeFound(seen(), 'default', runtime)
    expect(found).toMatchObject({
      remoteId: 'remote-1',
      idempotencyKey: 'adopted remote-1',
      automated: true,
      createdAt: '2026-01-05T11:59:00.000Z',
      stage: 'submitted',
      status: 'pending',
      failure: null,
      events: [{ type: 'transfer.adopted' }],
      request: {
        amount: { value: '250.00', currency: 'USD' },
        source: { addressId: 'virtual', valueType: 'USD', transferType: 'wire' },
        destination: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
      },
    })
    expect(Id.is(found?.id)).toBe(true)
  })

  it('keeps the note, the memo and the linked bank account of one that goes to a bank, and the fingerprint of all that', () => {
    const wire = { financialInstitutionId: 'bank', valueType: 'USD', transferType: 'wire', wireMemo: 'INV-42' }
    const source = { addressId: 'wallet', valueType: 'USDC', transferType: 'base' }
    const request = {
      amount: { value: '250.00', currency: 'USD' },
      source,
      destination: { addressId: 'bank', valueType: 'USD', transferType: 'wire', wireMemo: 'INV-42' },
      note: 'rent',
    }
    const found = describeFound(seen({ source, destination: wire, note: 'rent' }), 'default', runtime)
    expect(found).toMatchObject({ request, fingerprint: fingerprint(request) })
  })

  it('leaves out what it does not know', () => {
    const nowhere = { valueType: 'USDC', transferType: 'base' }
    const found = describeFound(
      seen({ source: { ...deposit.source, financialInstitutionId: undefined } }),
      'default',
      runtime,
    )
    expect(JSON.parse(JSON.stringify(found?.request))).toEqual({
      amount: deposit.amount,
      source: { valueType: 'USD', transferType: 'wire' },
      destination: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
    })
    expect(describeFound(seen({ destination: nowhere }), 'default', runtime)?.request.destination.addressId).toBe('')
  })

  it('is announced with the status that it has, and settled when that is final', () => {
    const processing = describeFound(seen({ status: 'processing' }), 'default', runtime)
    expect(processing).toMatchObject({ stage: 'submitted', reachedAt: '2026-01-05T11:59:30.000Z' })
    expect(processing?.events).toEqual([{ type: 'transfer.adopted' }, { type: 'transfer.processing' }])
    const complete = describeFound(seen({ status: 'complete' }), 'default', runtime)
    expect(complete).toMatchObject({ stage: 'settled', status: 'complete' })
    expect(complete?.events).toEqual([{ type: 'transfer.adopted' }, { type: 'transfer.completed' }])
  })

  it('is of an automation only when it says so', () => {
    const { automationId: _, ...others } = deposit
    const observation = { remoteId: 'remote-1', status: 'pending', failure: null, transfer: others } as const
    expect(describeFound(observation, 'default', runtime)).toMatchObject({ automated: false })
  })

  it('gets no row from a status alone, or without a time', () => {
    expect(
      describeFound({ remoteId: 'remote-1', status: 'complete', failure: null }, 'default', runtime),
    ).toBeUndefined()
    expect(describeFound(seen({ createdAt: 'some time' }), 'default', runtime)).toBeUndefined()
  })

  it('has a key that no host can give', () => {
    expect(describeFound(seen(), 'second', runtime)?.idempotencyKey).toBe('adopted second remote-1')
    const key = describeFound(seen(), 'default', runtime)?.idempotencyKey ?? ''
    expect(isAdopted({ idempotencyKey: key })).toBe(true)
    expect(IdempotencyKey.is(key)).toBe(false)
    expect(isAdopted({ idempotencyKey: 'adopted:remote-1' })).toBe(false)
  })
})
