import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Policy, type SumLimit } from '@outlay/core'
import { type Database, inTransaction } from '../database.ts'
import { acceptingGateway } from './outlay-stage.ts'

const note = { actor: 'bench', reason: 'measured' }
const day = { span: 'day', zone: 'America/New_York' } as const
const most = { USD: '1000000000000' }

/** Three limits that nothing reaches: of the host, of each account, and of each payee of it. */
const threeLimits: readonly SumLimit[] = [
  { ...day, name: 'host', most },
  { ...day, name: 'account', most, per: ['account'] },
  { ...day, name: 'payee', most, per: ['account', 'counterparty'] },
]

/** Ten policies that are compared with each payout, and none of which is about one. */
const tenPolicies: readonly Policy[] = [
  ...['500000', '1000000'].map((from) => ({
    name: `from-${from}`,
    when: { amounts: { USD: { from } } },
    approvals: [{ roles: ['finance'] }],
  })),
  ...['PYUSD', 'MXN'].map((currency) => ({
    name: `in-${currency.toLowerCase()}`,
    when: { currencies: [currency] },
    hold: 'of a currency',
  })),
  ...[1, 2, 3].map((n) => ({ name: `account-${n}`, when: { accounts: [`account-${n}`] }, hold: 'of an account' })),
  ...[1, 2, 3].map((n) => ({
    name: `payee-${n}`,
    when: { counterparties: [`01K8NOBODY000000000000000${n}`] },
    refuse: 'not to them',
  })),
]

/** What is set: nothing of it where the tables lack what they have for holds and limits. */
export interface Controls {
  readonly isBefore?: boolean
  readonly hasPolicies?: boolean
  readonly hasLimits?: boolean
}

/** Sets policies and limits in a database of Outlay, or removes what its tables have for them. */
export async function setControls(database: Database, controls: Controls): Promise<void> {
  if (controls.isBefore === true)
    await database.admin.query(
      `drop trigger transfer_gives_back on outlay.transfer; drop trigger transfer_stays_held on outlay.transfer;
       drop index outlay.transfer_expiring`,
    )
  const engine = createEngine({
    backend: postgres({ driver: pgDriver(database.pool) }),
    gateway: acceptingGateway(() => {}),
  })
  await inTransaction(database.pool, async (client) => {
    if (controls.hasPolicies === true) await engine.policies.set(client, tenPolicies, note)
    if (controls.hasLimits === true) await engine.limits.set(client, threeLimits, note)
  })
}
