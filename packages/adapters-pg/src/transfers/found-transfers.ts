import type { Logger } from '@outlay/core'
import { Column, type FoundTransfer, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements, storableJson } from '../database/statement.ts'
import { writeReturns } from './returns.ts'

const texts = {
  record_found_transfers: 'select {{schema}}.record_found_transfers($1, $2::jsonb) as count',
} as const

const message = 'A transfer that the service made cannot be adopted as it is; "outlay doctor" has all of them.'

/** A found transfer in the form that the SQL which adopts it reads. */
export function writeFound(found: FoundTransfer) {
  const { id, idempotencyKey, fingerprint, request, stage, status, failure, reachedAt } = found
  const events = found.events.map((event) => event.type)
  const { returns: back, changedAt } = found
  // What says nothing of returns, such as a list that leaves them out, takes none back.
  const returns = back === undefined ? {} : back.length === 0 ? { no_returns: true } : { returns: writeReturns(back) }
  const window = found.returnWindowMs === undefined ? {} : { return_window_ms: found.returnWindowMs }
  return {
    remote_id: found.remoteId,
    automated: found.automated,
    created_at: found.createdAt,
    problem: found.problem,
    transfer: {
      ...{
        id,
        key: idempotencyKey,
        fingerprint,
        request,
        stage,
        status,
        failure,
        reached_at: reachedAt,
        events,
        changed_at: changedAt,
      },
      ...returns,
      ...window,
    },
  }
}

/** Makes the store of transfers that the service made, on a driver. It logs which of them cannot be adopted as they are. */
export function createFoundTransferStore<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  logger: Logger | undefined,
) {
  const sql = statements(tokens, texts)
  const write = async (tx: Tx, accountId: string, found: readonly FoundTransfer[]): Promise<number> => {
    if (found.length === 0) return 0
    const values = [accountId, storableJson(found.map(writeFound))]
    return readFirst(readCount, await driver.execute(tx, sql.record_found_transfers, values))?.count ?? 0
  }
  return {
    /** Records those that no row here has the id of, where the account is watched; returns of how many that is news. */
    async record(tx: Tx, accountId: string, found: readonly FoundTransfer[]): Promise<number> {
      const odd = found.filter(({ problem }) => problem !== undefined)
      const plain = found.filter(({ problem }) => problem === undefined)
      const count = await write(tx, accountId, odd)
      const [first] = odd
      if (count > 0) logger?.warn({ accountId, count, remoteId: first?.remoteId, problem: first?.problem }, message)
      return count + (await write(tx, accountId, plain))
    },
  }
}

const readCount = rowDecoder('found transfers', { count: Column.integer })
