import { type IdentifiedReturn, type Logger, type Observation, TransferReturn } from '@outlay/core'
import { Column, momentOf, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { statements, storableJson } from '../database/statement.ts'

const texts = { record_returns: 'select id, code, problem from {{schema}}.record_returns($1::jsonb)' } as const

/** Makes the store of returns on a driver. It logs what is held. */
export function createReturnStore<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  logger: Logger | undefined,
) {
  const sql = statements(tokens, texts)
  return {
    /**
     * Records what observations of each account say of its transfers, which are locked; returns the ids of those with a return that was not known. Call it
     * before their changes are applied: a completion decides about the returns that are there. `pushed` says that the service sent them,
     * perhaps late or again.
     */
    async record(
      tx: Tx,
      observed: readonly { readonly known: readonly KnownTransfer[]; readonly seen: readonly Observation[] }[],
      pushed: boolean,
    ): Promise<readonly string[]> {
      const reports = observed
        .flatMap(({ known, seen }) => findReports(known, seen))
        .map((report) => (pushed ? { ...report, pushed } : report))
      if (reports.length === 0) return []
      const decided = (await driver.execute(tx, sql.record_returns, [storableJson(reports)])).map(readDecided)
      for (const { transferId, code, problem } of decided) {
        if (problem === null) continue
        const message = 'Money that came back contradicts its transfer; a person has to decide.'
        logger?.error({ transferId, code, problem }, message)
      }
      return decided.map(({ transferId }) => transferId)
    },
  }
}

/** A transfer that observations are about. */
interface KnownTransfer {
  readonly id: string
  readonly remoteId: string
  /** True when a return of it waits or is held, so that a report without any withdraws it. */
  readonly hasOpenReturns: boolean
}

/** The newest observation of a transfer counts, and the last one of those whose time is not known. */
function findReports(known: readonly KnownTransfer[], seen: readonly Observation[]) {
  const said = new Map<string, { readonly returns: readonly TransferReturn[]; readonly changedAt: string | null }>()
  for (const { remoteId, returns, transfer } of seen) {
    if (returns === undefined) continue
    const changedAt = momentOf(transfer?.updatedAt)
    const before = said.get(remoteId)?.changedAt ?? null
    if (changedAt === null || before === null || changedAt >= before) said.set(remoteId, { returns, changedAt })
  }
  return known.flatMap(({ id, remoteId, hasOpenReturns }) => {
    const report = said.get(remoteId)
    if (report === undefined || (report.returns.length === 0 && !hasOpenReturns)) return []
    return [{ id, returns: writeReturns(report.returns), changed_at: report.changedAt }]
  })
}

/** All that came back of a transfer, in the form that the SQL which records it reads. */
export const writeReturns = (returns: readonly TransferReturn[]) => TransferReturn.identify(returns).map(writeReturn)

const writeReturn = ({ identity, code, amount, sourceAmount, occurredAt }: IdentifiedReturn) => ({
  identity,
  code,
  amount: amount?.value ?? null,
  currency: amount?.currency ?? null,
  source_amount: sourceAmount?.value,
  source_currency: sourceAmount?.currency,
  occurred_at: occurredAt,
})

const readDecided = rowDecoder('return', {
  transferId: Column.from('id', Column.text),
  code: Column.text,
  problem: Column.nullable(Column.text),
})
