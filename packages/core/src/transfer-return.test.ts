import { describe, expect, it } from 'vitest'
import { TransferReturn } from './transfer-return.ts'

const one = { code: 'R10', amount: { value: '40.10', currency: 'USD' }, occurredAt: '2026-01-09T09:00:00.000Z' }
const other = { ...one, code: 'R01' }
const identities = (returns: readonly TransferReturn[]) => TransferReturn.identify(returns).map((r) => r.identity)

describe('the identity of a return', () => {
  it('is the same in every report and every spelling', () => {
    const spelled = { ...one, amount: { value: '40.1', currency: 'USD' }, occurredAt: '2026-01-09T09:00:00Z' }
    expect(identities([spelled])).toEqual(identities([one]))
    expect(identities([other, one])).toEqual(identities([one, other]).toReversed())
  })

  it('distinguishes what differs, and two that are alike', () => {
    const all = [one, one, other, { ...one, amount: null }, { ...one, occurredAt: null }]
    expect(new Set(identities(all)).size).toBe(all.length)
    expect(identities([one, one])[0]).toBe(identities([one])[0])
  })

  it.each(['100', '1000.00', '0.10', '10'])('does not confuse %s with a tenth or ten times of it', (value) => {
    const amounts = [value, `${value.split('.')[0]}0`].map((v) => ({ ...one, amount: { value: v, currency: 'USD' } }))
    expect(new Set(amounts.flatMap((r) => identities([r]))).size).toBe(2)
  })
})
