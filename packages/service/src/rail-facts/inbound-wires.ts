import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'
import { batch } from '../database/batch.ts'
import { run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import type { InboundWires } from '../rails/gateway.ts'
import { finishFacts, recordFact } from './rail-facts.ts'

/** Makes the reader and writer of awaited wires. It reads simultaneous polls in one statement. */
export function createInboundWires(
  context: Pick<ServiceContext, 'pool' | 'schema' | 'clock' | 'random'>,
): InboundWires {
  const isAwaited = batch(
    async (transferIds: readonly string[]) => {
      const rows = await run(asSystem(context), context, selectAwaited, [transferIds])
      const awaited = new Set(rows.map(({ id }) => id))
      return transferIds.map((id) => awaited.has(id))
    },
    { maxSize: 200, waitMs: 2 },
  )
  return {
    isAwaited,
    async expect({ transferId, accountId, source, amount }, reference) {
      const system = asSystem(context)
      const fact = {
        kind: 'expected',
        rail: source.transferType,
        reference,
        transferId,
        accountId,
        amount,
        payload: {},
      } as const
      const { id, appliedAt } = await recordFact(system, context, fact)
      if (appliedAt === null) await finishFacts(system, context, [{ id }])
    },
  }
}

const selectAwaited = statement(
  'transfer_select_awaited_wires',
  `select t.id from {{schema}}.transfer t
    where t.id = any ($1) and t.wire_instructions is not null and t.status in ('pending', 'processing') and not exists (
      select from {{schema}}.rail_fact f
       where f.transfer_id = t.id and f.kind in ('accepted', 'settled') and f.applied_at is not null
    )`,
  rowDecoder('transfer', { id: Column.text }),
)
