import type { Shards } from '@outlay/adapters-pg'
import { OutlayError, type Policy } from '@outlay/core'
import type { PoolClient } from 'pg'
import { creator } from '../environment/tenant.ts'
import type { PaymentRule } from '../plan/earlier-payments.ts'
import { startWorker } from '../workers/worker.ts'
import { policiesAbout } from './earlier-payments.ts'
import { findPayout } from './host-payouts.ts'
import type { Run } from './run-state.ts'

/** Who decides: the creator in two spellings may not. */
const people = ['anna', 'bert', creator, creator.toUpperCase()]

/** From so many units on, in each currency that payouts have. */
const policiesFrom = (from: number): readonly Policy[] => [
  {
    name: 'large',
    when: { amounts: Object.fromEntries(['USD', 'USDC'].map((currency) => [currency, { from: String(from) }])) },
    approvals: [{ count: 2 }],
  },
]

/** What is set of policies: from how many units on payouts have to be approved, whether all have to be screened, and rules about earlier payments. */
interface Control {
  readonly from?: number | undefined
  readonly screens?: boolean | undefined
  readonly payments?: readonly PaymentRule[] | undefined
}

const screened: Policy = { name: 'screened', screen: 'as the plan says' }

/** Another process of the host sets the policies, so that the one that enqueues does not know them yet. */
export async function setPolicies(at: Run, change: Control): Promise<string> {
  const { approvedFrom, screens: isScreened, paymentRules } = at
  const {
    from,
    screens = false,
    payments = [],
  } = {
    ...{ from: approvedFrom, screens: isScreened, payments: paymentRules },
    ...change,
  }
  const policies = [
    ...(from === undefined ? [] : policiesFrom(from)),
    ...(screens ? [screened] : []),
    ...policiesAbout(payments),
  ]
  const note = { actor: 'petra', reason: 'as planned', clear: policies.length === 0 }
  at.approvedFrom = undefined
  at.screens = undefined
  at.paymentRules = undefined
  const board = await startWorker(at, { works: false, isSteady: true })
  try {
    const { engine, system } = board
    const set = (tx: PoolClient) => engine.policies.set(tx, policies, note)
    const version =
      system === undefined ? (await board.transaction(null, set)).version : await setOnAll(system, policies, note)
    at.approvedFrom = from
    at.screens = screens
    at.paymentRules = payments
    return `version ${version}`
  } finally {
    await board.stop()
  }
}

async function setOnAll(
  system: Shards<PoolClient>,
  ...[policies, note]: Parameters<Shards<PoolClient>['policies']['setAll']>
) {
  const { answers } = await system.policies.setAll(policies, note)
  return Object.values(answers)
    .map(({ version }) => version)
    .join(' and ')
}

/** Somebody decides about a payout; returns what became of that. */
export async function decide(
  at: Run,
  what: 'approve' | 'reject' | 'hold_back' | 'let_go',
  payout: number,
  by: number,
): Promise<string> {
  const found = await findPayout(at, payout)
  if (found === undefined) return 'it is not there yet'
  return decideAbout(at, what, found, people[by % people.length] ?? '')
}

async function decideAbout(
  { office }: Run,
  what: 'approve' | 'reject' | 'hold_back' | 'let_go',
  { transfer_id: id, account_id }: { readonly transfer_id: string; readonly account_id: string },
  actor: string,
): Promise<string> {
  const { transfers } = office.engine
  const note = { actor, reason: 'as planned' }
  try {
    return await office.transaction(account_id, async (tx) => {
      switch (what) {
        case 'approve':
          return (await transfers.approve(tx, id, { actor })).released ? 'released' : 'approved'
        case 'reject':
          await transfers.reject(tx, id, note)
          return 'rejected'
        case 'hold_back':
          return (await transfers.hold(tx, id, note)) ? 'held' : 'held before'
        case 'let_go':
          return letGo(transfers, tx, id, note)
      }
    })
  } catch (error) {
    if (!OutlayError.is(error)) throw error
    return error.code
  }
}

/** Ends every hold that a person may end, each by its name. What the screener has not put on hold is left to it. */
async function letGo(
  transfers: Run['office']['engine']['transfers'],
  tx: PoolClient,
  id: string,
  note: { readonly actor: string; readonly reason: string },
): Promise<string> {
  const { holds = [] } = (await transfers.holds(id, tx)) ?? {}
  let released = 0
  for (const { name, policy, screening } of holds) {
    if (name === 'approval' || (name === 'screening' && screening?.isOnHold !== true)) continue
    const named = name === 'operator' ? { hold: name } : { hold: name, policy }
    released += Number(await transfers.release(tx, id, { ...note, ...named }))
  }
  return released > 0 ? 'let go' : 'not held'
}

/** Everybody who may decides about what is still held, so that a run comes to its end. */
export async function approveAll(at: Run): Promise<void> {
  const { rows } = await at.environment.host.query<{ readonly transfer_id: string; readonly account_id: string }>(
    `select id as transfer_id, account_id from outlay.transfer where stage = 'held' order by id`,
  )
  for (const held of rows) {
    await decideAbout(at, 'let_go', held, 'olga')
    for (const actor of ['anna', 'bert']) await decideAbout(at, 'approve', held, actor)
  }
}
