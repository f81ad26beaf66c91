import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'
import { batch } from '../database/batch.ts'
import { run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import type { InboundWires } from '../rails/gateway.ts'
import { finishFacts, recordFact } from './rail-facts.ts'

/** Makes the reader and writer of expected wires. It reads simultaneous polls in one statement. */
export function createInboundWires(
  context: Pick<ServiceContext, 'pool' | 'schema' | 'clock' | 'random'>,
): InboundWires {
  const isAwaited = batch(
    async (references: readonly string[]) => {
      const rows = await run(asSystem(context), context, selectAwaited, [references])
      const awaited = new Set(rows.map(({ reference }) => reference))
      return references.map((reference) => awaited.has(reference))
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
  'rail_fact_select_awaited',
  `select f.reference from {{schema}}.rail_fact f
    where f.reference = any ($1) and f.kind = 'expected' and not exists (
      select from {{schema}}.rail_fact a
       where a.transfer_id = f.transfer_id and a.kind in ('accepted', 'settled') and a.applied_at is not null
    )`,
  rowDecoder('rail fact', { reference: Column.text }),
)
