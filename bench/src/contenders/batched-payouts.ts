import type { Engine, Gateway } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { inTransaction } from '../database.ts'
import type { Drainer } from '../drainer.ts'
import { createHostTable, insertInvoice } from '../enqueue-host.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { openOutlayStage } from './outlay-stage.ts'

/** Host transactions at once. */
const writers = 8

/** Transfers that the worker has under way at once. */
const concurrency = 100

/** Accepts each transfer as complete. */
const completingGateway: Gateway = {
  async submit({ idempotencyKey }) {
    const remoteId = `remote-${idempotencyKey}`
    return { outcome: 'accepted', remoteId, observation: { remoteId, status: 'complete', failure: null } }
  },
  get: () => Promise.resolve(undefined),
}

/** How payouts are enqueued. */
interface BatchedOptions {
  readonly name: string
  readonly database: string
  /** Transfers of one batch; null for none. */
  readonly batchSize: number | null
  /** Removes what the tables have for batches: the trigger and the index. */
  readonly isBefore?: boolean
}

/** Outlay from the host's transaction to the end of each payout; a turn enqueues them, and then works them off. */
export async function openBatchedPayouts(serverUrl: string, options: BatchedOptions): Promise<Drainer> {
  const { name, batchSize } = options
  const stage = await openOutlayStage(serverUrl, options.database, 20)
  const { database, sender } = stage
  await createHostTable(database.admin)
  if (options.isBefore === true)
    await database.admin.query(
      'drop trigger transfer_batch_counts on outlay.transfer; drop index outlay.transfer_batch',
    )
  let expected = 0
  let running: Engine<PoolClient> | undefined
  const createBatches = async (count: number) => {
    const ids: string[] = []
    await inTransaction(database.pool, async (client) => {
      for (let at = 0; batchSize !== null && at < count; at += batchSize)
        ids.push((await sender.batches.create(client)).id)
    })
    return ids
  }
  const enqueueAll = async (batches: readonly string[]) => {
    let next = 0
    const write = async () => {
      for (let n = next++; n < expected; n = next++) {
        const batchId = batches[Math.floor(n / (batchSize ?? 1))]
        await inTransaction(database.pool, async (client) => {
          await client.query(insertInvoice(n))
          await sender.transfers.enqueue(client, {
            ...sampleTransfer(n),
            ...(batchId === undefined ? {} : { batchId }),
          })
        })
      }
    }
    await Promise.all(Array.from({ length: writers }, write))
    await inTransaction(database.pool, async (client) => {
      for (const id of batches) await sender.batches.close(client, id)
    })
  }
  const countEnded = () =>
    database.count(`select count(*) from outlay.transfer where stage = 'settled' and status = 'complete'`)
  return {
    name,
    database,
    async fill(count) {
      await stage.empty()
      const tables = ['batch', 'closed_batch', 'batch_change', 'batch_count'].map((table) => `outlay.${table}`)
      await database.admin.query(`truncate invoice, ${tables.join(', ')}`)
      expected = count
    },
    async drain() {
      const batches = await createBatches(expected)
      await enqueueAll(batches)
      running = stage.makeEngine(completingGateway)
      await running.start({ concurrency })
      const isOver = async () =>
        (await countEnded()) === expected &&
        (await database.count('select count(*) from outlay.batch where completed_at is null')) === 0
      await waitUntil(isOver, { timeoutMs: 3_600_000, describe: 'all payouts and batches to end' })
      return expected
    },
    async countDone() {
      await running?.stop()
      return countEnded()
    },
    close: () => stage.close(),
  }
}
