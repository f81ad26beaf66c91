import type { Case, Violation } from './case.ts'
import { decimal, units } from './decimal.ts'
import type { Balance, Entry } from './history.ts'

/** Reliability: "The ledger sums to zero, and no wallet goes below it"; and a balance is what the statements come to. */
export function judgeLedger({ history }: Case): readonly Violation[] {
  const { service, host } = history
  const entries = service.filter((line) => line.kind === 'entry')
  const balances = service.filter((line) => line.kind === 'balance')
  const effects = service.filter((line) => line.kind === 'transfer')
  const found: Violation[] = []
  const add = (rule: string, payout: string, what: string, ...evidence: unknown[]) =>
    void found.push({ rule, payout, what, evidence })
  for (const [posting, lines] of Map.groupBy(entries, ({ posting, step, value }) => `${posting} ${step} ${value}`)) {
    const total = sum(lines)
    if (total !== 0n) add('unbalanced', posting, `it sums to ${decimal(total)}`, ...lines)
  }
  const byLedger = Map.groupBy(entries, ({ ledger }) => ledger)
  for (const balance of balances) {
    const name = `${balance.value} of ${balance.account || balance.owner}`
    if (balance.owner !== 'custodial') continue
    if (units(balance.available) < 0n || units(balance.held) < 0n)
      add('below_zero', balance.address, `${name} is below zero`, balance)
    if (!balance.last) continue
    const own = byLedger.get(balance.ledger) ?? []
    for (const bucket of ['available', 'held'] as const) {
      const total = sum(own.filter((entry) => entry.bucket === bucket))
      if (total === units(balance[bucket])) continue
      add(
        'balance_wrong',
        balance.address,
        `${bucket} ${name} is ${balance[bucket]}, and its entries come to ${decimal(total)}`,
        balance,
      )
    }
    // What came in, less what transfers took out, is there: money is neither made nor lost.
    const cameIn = sum(own.filter(({ step }) => step === 'deposit' || step === 'reverse'))
    const moved = effects.reduce(
      (total, { status, retriable, amount, source, destination }) => {
        const isOver = status === 'complete' || status === 'canceled' || (status === 'failed' && !retriable)
        const takes = isAt(balance, source) && (status === 'complete' || !isOver)
        return {
          out: total.out + (takes && isOver ? units(amount.value) : 0n),
          held: total.held + (takes && !isOver ? units(amount.value) : 0n),
          in: total.in + (isAt(balance, destination) && status === 'complete' ? units(amount.value) : 0n),
        }
      },
      { out: 0n, held: 0n, in: 0n },
    )
    if (units(balance.held) !== moved.held)
      add(
        'balance_wrong',
        balance.address,
        `${balance.held} ${name} is held, and open transfers come to ${decimal(moved.held)}`,
        balance,
      )
    const left = cameIn + moved.in - moved.out
    const has = units(balance.available) + units(balance.held)
    if (has !== left)
      add(
        'money_not_conserved',
        balance.address,
        `${name} is ${decimal(has)}, and ${decimal(left)} should be left`,
        balance,
      )
    const funded = host
      .filter((line) => line.kind === 'funded')
      .filter(
        ({ account, value, rail }) =>
          `${account} ${value} ${rail}` === `${balance.account} ${balance.value} ${balance.rail}`,
      )
    const given = funded.reduce((total, { amount }) => total + units(amount), 0n)
    const deposited = sum(own.filter(({ step }) => step === 'deposit'))
    if (funded.length > 0 && given !== deposited)
      add(
        'money_not_conserved',
        balance.address,
        `${decimal(given)} ${name} was put in, and ${decimal(deposited)} arrived`,
        balance,
      )
  }
  return found
}

const sum = (entries: readonly Entry[]): bigint => entries.reduce((total, { amount }) => total + units(amount), 0n)

const isAt = (
  balance: Balance,
  leg: { readonly address?: string; readonly valueType: string; readonly transferType: string },
): boolean => leg.address === balance.address && leg.valueType === balance.value && leg.transferType === balance.rail
