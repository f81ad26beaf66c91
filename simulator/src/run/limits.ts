import type { SumLimit } from '@outlay/core'
import type { PoolClient } from 'pg'
import { accountLimit, hostLimit } from '../invariants/limits.ts'
import type { Run } from './run-state.ts'

/** So many units a day for each account, and twice as many for all. */
const limitsOf = (most: number): readonly SumLimit[] => [
  { name: accountLimit, most: { USD: String(most) }, span: 'day', zone: 'Europe/Berlin', per: ['account'] },
  { name: hostLimit, most: { USD: String(2 * most) }, span: 'day', zone: 'Europe/Berlin' },
]

/** A person sets limits on what leaves in a day, or takes them away. */
export async function setLimits({ office }: Run, most: number | null): Promise<string> {
  const note = { actor: 'petra', reason: 'as planned', clear: most === null }
  const limits = most === null ? [] : limitsOf(most)
  const { engine, system } = office
  const set = (tx: PoolClient) => engine.limits.set(tx, limits, note)
  if (system === undefined) return `version ${(await office.transaction(null, set)).version}`
  for (const { driver } of system.nodes) await driver.transaction(set)
  return 'on all nodes'
}
