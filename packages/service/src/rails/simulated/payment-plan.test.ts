import { describe, expect, it } from 'vitest'
import type { RailInstruction, RailLeg } from '../port.ts'
import { achReturns, magicInputs } from './magic.ts'
import { planPayment } from './payment-plan.ts'

const now = new Date('2026-11-18T15:00:00Z')
const wallet: RailLeg = { valueType: 'USDC', transferType: 'base', custodial: true, address: '0x1' }
const bank = (accountNumber: string, transferType: string): RailLeg => ({
  valueType: 'USD',
  transferType,
  custodial: false,
  address: '',
  bank: { owner: 'Jane', accountNumber, routingNumber: '021000021', accountType: 'checking' },
})
const offramp = (accountNumber: string, transferType: string, value = '1.00'): RailInstruction => ({
  transferId: '01KA0000000000000000000000',
  accountId: '01KA0000000000000000000001',
  flow: 'offramp',
  amount: { value, currency: 'USD' },
  source: wallet,
  destination: bank(accountNumber, transferType),
  statementName: 'Acme Payments LLC',
})

describe('planPayment', () => {
  it.each(Object.keys(achReturns))('an account number with the digits of %s comes back with it', (code) => {
    const plan = planPayment(offramp(`12300${code.slice(1)}`, 'ach_credit'), now, 1)
    expect(plan.next_state).toBe('returned')
    expect(plan.failure).toMatchObject({ type: 'returned', code, achReturn: { code } })
  })

  it('a return code has no effect on a wire', () => {
    expect(planPayment(offramp('1230003', 'wire'), now, 1)).toMatchObject({ next_state: 'settled', failure: null })
  })

  it('a rejected wire fails when it would have settled', () => {
    expect(planPayment(offramp('1230500', 'wire'), now, 1)).toMatchObject({
      next_state: 'rejected',
      next_at: '2026-11-18T17:00:00.000Z',
      failure: { code: 'beneficiary_bank_rejected' },
    })
  })

  it('an inbound wire waits for money and has no due step', () => {
    const source = { valueType: 'USD', transferType: 'wire', custodial: false, address: '' }
    const plan = planPayment({ ...offramp('1', 'wire'), flow: 'onramp', source, destination: wallet }, now, 1)
    expect(plan).toMatchObject({ state: 'expected', next_state: null, next_at: null, route: { settleMs: 10_000 } })
  })

  it('a wire whose sender is known waits for money, too', () => {
    const source = bank('1', 'wire')
    const plan = planPayment({ ...offramp('1', 'wire'), flow: 'onramp', source, destination: wallet }, now, 1)
    expect(plan).toMatchObject({ state: 'expected', next_at: null })
  })

  it.each(['wire', 'ach_credit'])('a deposit by %s is here already: only the mint is left, under its hash', (rail) => {
    const source = { valueType: 'USD', transferType: rail, custodial: false, address: '' }
    const onramp = { ...offramp('1', 'wire'), flow: 'onramp', source, destination: wallet } as const
    const plan = planPayment({ ...onramp, deposit: { reference: 'R' } }, now, 1)
    expect(plan).toMatchObject({
      state: 'accepted',
      next_state: 'settled',
      next_at: '2026-11-18T15:00:10.000Z',
      reference: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      source: null,
      destination: { transactionId: plan.reference },
    })
  })

  it('every magic amount has the effect in the table', () => {
    for (const [value, spell] of Object.entries(magicInputs.amountIs)) {
      const plan = planPayment({ ...offramp('1', 'wire', value) }, now, 1)
      const expected = { reject: 'rejected', stall: null }[spell.effect as 'reject' | 'stall']
      expect(plan.next_state).toBe(expected === undefined ? 'settled' : expected)
    }
  })

  it('no account number or owner is kept', () => {
    expect(JSON.stringify(planPayment(offramp('998877665544', 'ach_credit'), now, 1))).not.toMatch(/998877665544|Jane/)
  })
})
