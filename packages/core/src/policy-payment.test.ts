import { describe, expect, it } from 'vitest'
import { defaultCatalog } from './catalog.ts'
import { evaluatePolicies, Policy } from './policy.ts'
import type { PaymentFacts } from './policy-payment.ts'

const transfer = {
  accountId: 'acme',
  request: {
    amount: { value: '1.00', currency: 'USD' },
    source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: 'bank', valueType: 'USD', transferType: 'wire' },
  },
}
const now = new Date('2026-11-27T12:00:00Z')
const usual: PaymentFacts = { isNewToAccount: false, isNewToHost: false, lookalike: null }
const judge = (policy: Policy, payment?: PaymentFacts) =>
  evaluatePolicies([policy], transfer, { now, flow: 'payout', catalog: defaultCatalog, payment })
const held = (when: Policy['when'], payment?: PaymentFacts) => {
  const verdict = judge({ name: 'p', when, hold: 'why' }, payment)
  return verdict.refusal === undefined ? verdict.holds.map(({ why }) => why) : undefined
}

describe('a policy about earlier transfers', () => {
  it('is about a payee that is new for whom it says', () => {
    const toAccount = { ...usual, isNewToAccount: true }
    expect(held({ newCounterparty: 'account' }, usual)).toEqual([])
    expect(held({ newCounterparty: 'account' }, toAccount)).toEqual([
      'why. The account has never completed a payment to this counterparty.',
    ])
    expect(held({ newCounterparty: 'host' }, toAccount)).toEqual([])
    expect(held({ newCounterparty: 'host' }, { ...toAccount, isNewToHost: true })).toEqual([
      'why. No account has ever completed a payment to this counterparty.',
    ])
  })

  it('is about what looks like another one of so many days, seven where it does not say', () => {
    const ago = (days: number): PaymentFacts => ({
      ...usual,
      lookalike: { id: 'other', at: new Date(now.getTime() - days * 86_400_000).toISOString() },
    })
    expect(held({ lookalike: {} }, usual)).toEqual([])
    expect(held({ lookalike: {} }, ago(6.9))).toEqual([expect.stringContaining('the transfer other of 2026-11-20')])
    expect(held({ lookalike: {} }, ago(7.1))).toEqual([])
    expect(held({ lookalike: { days: 31 } }, ago(30.9))).toHaveLength(1)
    expect(held({ lookalike: {} }, { ...usual, lookalike: { id: 'other', at: 'never' } })).toHaveLength(1)
  })

  it('applies where nobody knows what was paid, and says so', () => {
    for (const when of [{ newCounterparty: 'account' }, { newCounterparty: 'host' }, { lookalike: {} }] as const)
      expect(held(when)).toEqual([expect.stringContaining('What was paid before is not known')])
  })

  it('says what is compared again before it is sent, where all else is true', () => {
    const refuse = { name: 'p', when: { lookalike: { days: 3 }, accounts: ['acme'] }, refuse: 'twice' }
    expect(judge(refuse, usual)).toEqual({
      holds: [],
      watches: [{ name: 'limit', policy: 'p', why: 'twice', days: 3 }],
    })
    expect(judge({ ...refuse, when: { lookalike: {}, accounts: ['beta'] } }, usual)).toEqual({ holds: [] })
    const lookalike = { id: 'other', at: now.toISOString() }
    expect(judge(refuse, { ...usual, lookalike })).toMatchObject({
      refusal: { policy: 'p', why: expect.stringMatching(/^twice\. It looks like/) },
    })
  })

  it('is read strictly', () => {
    const read = (when: unknown) => () => Policy.parseAll([{ name: 'p', when, hold: 'x' }], defaultCatalog)
    for (const [when, field] of [
      [{ newCounterparty: 'somebody' }, 'newCounterparty'],
      [{ newCounterparty: true }, 'newCounterparty'],
      [{ newCounterparty: null }, 'newCounterparty'],
      [{ lookalike: true }, 'lookalike'],
      [{ lookalike: null }, 'lookalike'],
      [{ lookalike: { days: 0 } }, 'lookalike.days'],
      [{ lookalike: { days: 32 } }, 'lookalike.days'],
      [{ lookalike: { days: 1.5 } }, 'lookalike.days'],
      [{ lookalike: { days: '3' } }, 'lookalike.days'],
      [{ lookalike: { hours: 3 } }, 'lookalike.hours'],
    ] as const)
      expect(read(when), JSON.stringify(when)).toThrow(expect.objectContaining({ field: `0.when.${field}` }))
    expect(read({ newCounterparty: 'host', lookalike: {} })()).toMatchObject([
      { when: { newCounterparty: 'host', lookalike: {} } },
    ])
  })
})
