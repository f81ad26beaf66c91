import { inTransaction } from '../database.ts'
import type { Drainer } from '../drainer.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { openWholePayouts } from './whole-payouts.ts'

/** How payouts are enqueued. */
interface BatchedOptions {
  readonly name: string
  readonly database: string
  /** Transfers of one batch; null for none. */
  readonly batchSize: number | null
  /** Removes what the tables have for batches: the trigger and the index. */
  readonly isBefore?: boolean
}

/** Payouts in batches, or outside of any, from the host's transaction to the end of the last batch. */
export function openBatchedPayouts(serverUrl: string, options: BatchedOptions): Promise<Drainer> {
  const { name, database, batchSize } = options
  return openWholePayouts(serverUrl, {
    name,
    database,
    tables: ['batch', 'closed_batch', 'batch_change', 'batch_count'],
    async prepare(stage) {
      if (options.isBefore === true)
        await stage.database.admin.query(
          'drop trigger transfer_batch_counts on outlay.transfer; drop index outlay.transfer_batch',
        )
    },
    async begin({ database, sender }, count) {
      const ids: string[] = []
      await inTransaction(database.pool, async (client) => {
        for (let at = 0; batchSize !== null && at < count; at += batchSize)
          ids.push((await sender.batches.create(client)).id)
      })
      return {
        request(n) {
          const batchId = ids[Math.floor(n / (batchSize ?? 1))]
          return { ...sampleTransfer(n), ...(batchId === undefined ? {} : { batchId }) }
        },
        end: () =>
          inTransaction(database.pool, async (client) => {
            for (const id of ids) await sender.batches.close(client, id)
          }),
      }
    },
    isOver: async ({ database }) =>
      (await database.count('select count(*) from outlay.batch where completed_at is null')) === 0,
  })
}
