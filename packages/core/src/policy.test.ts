import { describe, expect, it } from 'vitest'
import { defaultCatalog } from './catalog.ts'
import { evaluatePolicies, type JudgedTransfer, Policy, type PolicyConditions } from './policy.ts'

const transfer: JudgedTransfer = {
  accountId: 'acme',
  request: {
    amount: { value: '10000.00', currency: 'USD' },
    source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: 'payee', valueType: 'USD', transferType: 'ach_credit' },
  },
  metadata: { run: 'salaries' },
}
// A Thursday.
const facts = { now: new Date('2026-11-26T17:30:00Z'), flow: 'offramp' } as const

const read = (...policies: unknown[]) => Policy.parseAll(policies, defaultCatalog)

const applies = (when: PolicyConditions, judged = transfer, now = facts.now): boolean => {
  const verdict = evaluatePolicies(read({ name: 'p', when, hold: 'held' }), judged, { ...facts, now })
  return verdict.refusal === undefined && verdict.holds.length > 0
}

describe('a policy', () => {
  it('of a time in a zone that this process does not know, and another did, applies', () => {
    const stored: Policy = { name: 'p', when: { time: { zone: 'Mars/Olympus_Mons' } }, hold: 'h' }
    expect(evaluatePolicies([stored], transfer, facts)).toMatchObject({ holds: [{ policy: 'p' }] })
  })

  it.each<[PolicyConditions, boolean]>([
    [{}, true],
    [{ amounts: { USD: { from: '10000' } } }, true],
    [{ amounts: { USD: { from: '10000.01' } } }, false],
    [{ amounts: { USD: { below: '10000' } } }, false],
    [{ amounts: { USD: { from: '9', below: '10000.000001' } } }, true],
    [{ amounts: { USDC: { from: '1' } } }, false],
    [{ currencies: ['USD'] }, true],
    [{ currencies: ['USDC'] }, false],
    [{ flows: ['onramp', 'offramp'] }, true],
    [{ flows: ['swap'] }, false],
    [{ rails: ['ach_credit'] }, true],
    [{ rails: ['base'] }, true],
    [{ rails: ['wire'] }, false],
    [{ accounts: ['acme'] }, true],
    [{ accounts: ['acme-2'] }, false],
    [{ counterparties: ['payee'] }, true],
    [{ counterparties: ['wallet'] }, false],
    [{ counterpartyInFull: true }, false],
    [{ counterpartyInFull: false }, true],
    [{ metadata: { run: 'salaries' } }, true],
    [{ metadata: { run: 'sellers' } }, false],
    [{ accounts: ['acme'], rails: ['wire'] }, false],
  ])('with the conditions %j applies: %s', (when, expected) => {
    expect(applies(when)).toBe(expected)
  })

  it.each<[string, NonNullable<PolicyConditions['time']>, boolean]>([
    ['2026-11-26T16:59:59Z', { zone: 'Europe/Berlin', from: '18:00', to: '08:00' }, false],
    ['2026-11-26T17:00:00Z', { zone: 'Europe/Berlin', from: '18:00', to: '08:00' }, true],
    ['2026-11-27T06:59:00Z', { zone: 'Europe/Berlin', from: '18:00', to: '08:00' }, true],
    ['2026-11-27T07:00:00Z', { zone: 'Europe/Berlin', from: '18:00', to: '08:00' }, false],
    // A night belongs to the day on which it began.
    ['2026-11-28T02:00:00Z', { zone: 'UTC', from: '18:00', to: '08:00', days: ['fri'] }, true],
    ['2026-11-27T02:00:00Z', { zone: 'UTC', from: '18:00', to: '08:00', days: ['fri'] }, false],
    ['2026-11-30T02:00:00Z', { zone: 'UTC', from: '18:00', to: '08:00', days: ['sun'] }, true],
    ['2026-11-28T23:59:00Z', { zone: 'UTC', days: ['sat', 'sun'] }, true],
    // It is Monday there already.
    ['2026-11-29T23:59:00Z', { zone: 'Asia/Tokyo', days: ['sat', 'sun'] }, false],
    // Summer time is two hours ahead.
    ['2026-07-01T16:00:00Z', { zone: 'Europe/Berlin', from: '18:00', to: '19:00' }, true],
    ['2026-07-01T00:00:00Z', { zone: 'UTC', from: '00:00', to: '00:01' }, true],
  ])('at %s with the time %j applies: %s', (now, time, expected) => {
    expect(applies({ time }, transfer, new Date(now))).toBe(expected)
  })

  it('refuses before others hold, and all that apply hold', () => {
    const holding = [
      { name: 'z', approvals: [{ count: 2 }], inOrder: true },
      { name: 'b', hold: 'too much' },
      { name: 'a', approvals: [{}] },
    ]
    expect(evaluatePolicies(read(...holding), transfer, facts)).toMatchObject({
      holds: [
        { name: 'approval', policy: 'a', requirement: { steps: [{}], inOrder: false } },
        { name: 'approval', policy: 'z', requirement: { steps: [{ count: 2 }], inOrder: true } },
        { name: 'limit', policy: 'b', why: 'too much' },
      ],
    })
    const refusing = [...holding, { name: 'no', when: { rails: ['ach_credit'] }, refuse: 'not by ACH' }]
    expect(evaluatePolicies(read(...refusing), transfer, facts)).toEqual({
      refusal: { policy: 'no', why: 'not by ACH' },
    })
  })

  it('names what it is about as requests do', () => {
    const [policy] = read({ name: 'p', when: { amounts: { usd: { from: '1' } }, rails: ['ACH_CREDIT'] }, hold: 'h' })
    expect(policy?.when).toMatchObject({ amounts: { USD: { from: '1' } }, rails: ['ach_credit'] })
  })

  it.each<[unknown, string]>([
    [{ hold: 'h' }, '0.name'],
    [{ name: 'P', hold: 'h' }, '0.name'],
    [{ name: 'p' }, '0'],
    [{ name: 'p', hold: 'h', refuse: 'r' }, '0'],
    [{ name: 'p', hold: '' }, '0.hold'],
    [{ name: 'p', hold: 'h', inOrder: true }, '0.inOrder'],
    [{ name: 'p', holds: 'h' }, '0.holds'],
    [{ name: 'p', approvals: [] }, '0.approvals'],
    [{ name: 'p', approvals: [{ count: 0 }] }, '0.approvals.0.count'],
    [{ name: 'p', approvals: [{ roles: [] }] }, '0.approvals.0.roles'],
    [{ name: 'p', approvals: [{ role: 'cfo' }] }, '0.approvals.0.role'],
    [{ name: 'p', hold: 'h', when: { amount: {} } }, '0.when.amount'],
    [{ name: 'p', hold: 'h', when: { amounts: {} } }, '0.when.amounts'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: {} } } }, '0.when.amounts.USD'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: { from: 10_000 } } } }, '0.when.amounts.USD.from'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: { from: '2', below: '2.0' } } } }, '0.when.amounts.USD'],
    [{ name: 'p', hold: 'h', when: { amounts: { DOLLARS: { from: '2' } } } }, '0.when.amounts.DOLLARS'],
    [{ name: 'p', hold: 'h', when: { accounts: undefined } }, '0.when.accounts'],
    [{ name: 'p', hold: 'h', when: { accounts: [] } }, '0.when.accounts'],
    [{ name: 'p', hold: 'h', when: { metadata: {} } }, '0.when.metadata'],
    [{ name: 'p', hold: 'h', when: { time: { zone: 'Berlin' } } }, '0.when.time.zone'],
    [{ name: 'p', hold: 'h', when: { time: { zone: '+01:00' } } }, '0.when.time.zone'],
    [{ name: 'p', hold: 'h', when: { time: { zone: 'UTC', from: '8:00' } } }, '0.when.time.from'],
    [{ name: 'p', hold: 'h', when: { time: { zone: 'UTC', from: '08:00', to: '08:00' } } }, '0.when.time.to'],
  ])('%j is refused at %s', (policy, field) => {
    expect(() => read(policy)).toThrow(expect.objectContaining({ code: 'invalid_request', field }))
  })

  it('has a name of its own', () => {
    const one = { name: 'p', hold: 'h' }
    expect(() => read(one, one)).toThrow(expect.objectContaining({ field: '1.name' }))
  })
})
