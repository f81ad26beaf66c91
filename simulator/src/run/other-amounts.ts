import { fileURLToPath } from 'node:url'
import {
  inTransaction,
  listRailExceptions,
  type RailFact,
  type RailFactListener,
  resolveRailException,
  type ServiceContext,
} from '@outlay/service'
import type { PlayerStep } from '../plan/players.ts'
import type { Run } from './run-state.ts'

type PayOtherwise = Extract<PlayerStep, { readonly do: 'pay_otherwise' }>

// Of the same modules as the sandbox: what its rails report to.
const { applyFacts } = (await import(
  fileURLToPath(new URL('../../../packages/service/dist/transfers/facts.js', import.meta.url))
)) as { readonly applyFacts: (context: ServiceContext) => RailFactListener }

interface UnderWay {
  readonly id: string
  readonly account_id: string
  readonly amount: string
  readonly currency: string
}

/** A rail settles a part of a payout, and a person at the service accepts that: it is complete, with another amount than was asked for. */
export async function payOtherwise(at: Run, { choice }: PayOtherwise): Promise<string> {
  const { context } = at.environment.sandbox.service
  const { rows } = await at.environment.service.query<UnderWay>(
    `select id, account_id, amount_value::text as amount, amount_currency as currency from outlay_service.transfer
     where account_id = any ($1) and status = 'processing' and destination_transfer_type = 'base' and amount_value > 1
       and source_transfer_type = 'base' and amount_currency = 'USDC' order by id`,
    [at.tenants.map(({ accountId }) => accountId)],
  )
  const found = rows[choice % Math.max(1, rows.length)]
  const reference = found === undefined ? null : (await context.engine.transfers.get(found.id))?.remoteId
  if (found === undefined || reference == null || at.foreign.has(found.id)) return 'none is under way'
  const { id: transferId, account_id: accountId, currency } = found
  const amount = { value: '1', currency }
  const fact = { kind: 'settled', transferId, accountId, amount, reference, failure: null } as RailFact
  await applyFacts(context)([fact])
  return inTransaction(context, async (tx) => {
    const [exception] = await listRailExceptions(tx, context, { transferId })
    if (exception === undefined) return 'it has ended meanwhile'
    await resolveRailException(tx, context, exception.id, { action: 'apply', by: 'ann' })
    at.paidOtherwise.add(transferId)
    return `${transferId} is complete with 1 of ${found.amount}`
  })
}
