import { type Case, isFinal, type Violation } from './case.ts'
import { decimal, units } from './decimal.ts'
import type { Balance, Effect, Entry, HostLine, Leg } from './history.ts'

/** Reliability: "The ledger sums to zero, and no wallet goes below it"; and a balance is the sum of its statements. */
export function judgeLedger({ history }: Case): readonly Violation[] {
  const { service, host } = history
  const entries = service.filter((line) => line.kind === 'entry')
  const effects = service.filter((line) => line.kind === 'transfer')
  const funded = host.filter((line) => line.kind === 'funded')
  const found: Violation[] = []
  for (const [payout, lines] of Map.groupBy(entries, ({ posting, step, value }) => `${posting} ${step} ${value}`)) {
    const total = sum(lines)
    if (total !== 0n)
      found.push({ rule: 'unbalanced', payout, what: `it sums to ${decimal(total)}`, evidence: lines.slice() })
  }
  const byLedger = Map.groupBy(entries, ({ ledger }) => ledger)
  for (const balance of service.filter((line) => line.kind === 'balance')) {
    if (balance.owner !== 'custodial') continue
    const add = (rule: string, what: string) =>
      void found.push({
        rule,
        payout: balance.address,
        what: `${balance.value} of ${balance.account}: ${what}`,
        evidence: [balance],
      })
    if (units(balance.available) < 0n || units(balance.held) < 0n) add('below_zero', 'it is below zero')
    if (balance.last) judgeWallet(balance, byLedger.get(balance.ledger) ?? [], effects, funded, add)
  }
  return found
}

/** Compares one wallet at the end with its entries, its transfers, and its deposits. */
function judgeWallet(
  balance: Balance,
  entries: readonly Entry[],
  effects: readonly Effect[],
  funded: readonly Extract<HostLine, { kind: 'funded' }>[],
  add: (rule: string, what: string) => void,
): void {
  const total = (of: (effect: Effect) => boolean) =>
    effects.reduce((all, effect) => (of(effect) ? all + units(effect.amount.value) : all), 0n)
  for (const bucket of ['available', 'held'] as const) {
    const come = sum(entries.filter((entry) => entry.bucket === bucket))
    if (come !== units(balance[bucket]))
      add('balance_wrong', `${bucket} is ${balance[bucket]}, and its entries come to ${decimal(come)}`)
  }
  const held = total((effect) => isAt(balance, effect.source) && !isFinal(effect))
  if (units(balance.held) !== held)
    add('balance_wrong', `${balance.held} is held, and open transfers come to ${decimal(held)}`)
  // The balance is the deposits less the transfers: money is neither made nor lost.
  const cameIn = sum(entries.filter(({ step }) => step === 'deposit' || step === 'reverse'))
  const received = total(({ status, destination }) => isAt(balance, destination) && status === 'complete')
  const paid = total(({ status, source }) => isAt(balance, source) && status === 'complete')
  const left = cameIn + received - paid
  const has = units(balance.available) + units(balance.held)
  if (has !== left) add('money_not_conserved', `it is ${decimal(has)}, and ${decimal(left)} should be left`)
  const own = funded.filter(({ account, value, rail }) => `${account} ${value} ${rail}` === nameOf(balance))
  const given = own.reduce((all, { amount }) => all + units(amount), 0n)
  const deposited = sum(entries.filter(({ step }) => step === 'deposit'))
  if (own.length > 0 && given !== deposited)
    add('money_not_conserved', `${decimal(given)} was put in, and ${decimal(deposited)} arrived`)
}

const nameOf = ({ account, value, rail }: Balance): string => `${account} ${value} ${rail}`

const sum = (entries: readonly Entry[]): bigint => entries.reduce((all, { amount }) => all + units(amount), 0n)

const isAt = (balance: Balance, leg: Leg): boolean =>
  leg.address === balance.address && leg.valueType === balance.value && leg.transferType === balance.rail
