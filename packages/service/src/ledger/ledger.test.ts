import { describe, expect, it } from 'vitest'
import type { RailFlow } from '../rails/port.ts'
import { type LedgerLeg, type LedgerLine, planDeposit, planReturn, planReverse, planTransfer } from './ledger.ts'

const wallet = (valueType: string, addressId = 'wallet'): LedgerLeg => ({
  valueType,
  transferType: 'base',
  custodial: { accountId: 'account', addressId },
})
const outside = (valueType: string, transferType: string): LedgerLeg => ({ valueType, transferType })

const flows: readonly (readonly [string, RailFlow, LedgerLeg, LedgerLeg])[] = [
  ['wire onramp', 'onramp', outside('USD', 'wire'), wallet('USDC')],
  ['ACH onramp to an outside wallet', 'onramp', outside('USD', 'ach_debit'), outside('USDC', 'base')],
  ['offramp', 'offramp', wallet('USDC'), outside('USD', 'wire')],
  ['swap', 'swap', wallet('USDC'), wallet('SBC')],
  ['payout', 'payout', wallet('USDC'), outside('USDC', 'base')],
  ['payout of another value type', 'payout', wallet('YSBC'), outside('USDC', 'base')],
  ['payout to another wallet of the service', 'payout', wallet('USDC'), wallet('USDC', 'other')],
]

/** Sums per value type in hundredths; the amounts of these tests have two decimals. */
const sums = (lines: readonly LedgerLine[]): Record<string, number> => {
  const totals: Record<string, number> = {}
  for (const line of lines) totals[line.value] = (totals[line.value] ?? 0) + Math.round(Number(line.amount) * 100)
  return totals
}

describe.each(flows)('the plan of a %s', (_name, flow, source, destination) => {
  const plan = planTransfer({ flow, amount: '12.34', source, destination })

  it('sums to zero per value type in every step', () => {
    for (const lines of [...Object.values(plan), planReverse(plan.post)]) {
      for (const total of Object.values(sums(lines))) expect(total).toBe(0)
    }
  })

  it('holds exactly what the service holds at the source, and posts what it held', () => {
    const held = (lines: readonly LedgerLine[]) =>
      lines.filter(({ bucket }) => bucket === 'held').map(({ amount }) => amount)
    expect(held(plan.hold)).toEqual(source.custodial === undefined ? [] : ['12.34'])
    expect(held(plan.post)).toEqual(source.custodial === undefined ? [] : ['-12.34'])
    expect(held(plan.void)).toEqual(source.custodial === undefined ? [] : ['-12.34'])
  })

  it('moves the amount out of the source and into the destination', () => {
    expect(plan.post.at(0)).toMatchObject({ value: source.valueType, rail: source.transferType, amount: '-12.34' })
    expect(plan.post.at(-1)).toMatchObject({
      value: destination.valueType,
      rail: destination.transferType,
      amount: '12.34',
      kind: destination.custodial === undefined ? 'outside' : 'custodial',
    })
  })
})

describe('planDeposit', () => {
  it('credits a wallet from outside', () => {
    expect(sums(planDeposit(wallet('USDC'), '5.00'))).toEqual({ USDC: 0 })
  })

  it('refuses an address that the service does not hold', () => {
    expect(() => planDeposit(outside('USDC', 'base'), '5.00')).toThrow('wallet')
  })
})

describe('planReturn', () => {
  it.each([
    ['payout', wallet('USDC')],
    ['swap', wallet('USDC')],
    ['onramp', outside('USD', 'wire')],
  ] as const)('lets the account of a %s owe what a wallet of somebody else has got', (flow, source) => {
    const theirs = { ...wallet('USDC', 'theirs'), custodial: { accountId: 'other', addressId: 'theirs' } }
    const { post } = planTransfer({ flow, amount: '100.00', source, destination: theirs })
    const lines = planReturn({ accountId: 'account', destinationAddressId: 'payee', flow, post }, '40.00')
    expect(lines.at(-1)).toMatchObject({ kind: 'receivable', account: 'account', address: 'payee', amount: '-40.00' })
    expect(lines.filter(({ account }) => account === 'other')).toEqual([])
    for (const total of Object.values(sums(lines))) expect(total).toBe(0)
  })

  it('takes back what a wallet of the same account has got', () => {
    const { post } = planTransfer({ flow: 'swap', amount: '1.00', source: wallet('USDC'), destination: wallet('SBC') })
    const lines = planReturn({ accountId: 'account', destinationAddressId: 'wallet', flow: 'swap', post }, '1.00')
    expect(lines.at(-1)).toMatchObject({ kind: 'custodial', account: 'account', amount: '-1.00' })
  })
})
