import type { Engine, EnqueueRequest, Gateway, Screener } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { inTransaction } from '../database.ts'
import type { Drainer } from '../drainer.ts'
import { createHostTable, insertInvoice } from '../enqueue-host.ts'
import { type OutlayStage, openOutlayStage } from './outlay-stage.ts'

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

/** The payouts of one turn. */
export interface PayoutsOfTurn {
  request(n: number): EnqueueRequest
  /** Runs behind the last enqueue. */
  end?(): Promise<void>
}

/** What is done with payouts. */
export interface WholePayouts {
  readonly name: string
  readonly database: string
  /** Tables that a turn empties, besides those of every transfer. */
  readonly tables: readonly string[]
  readonly screen?: Screener
  /** Runs once, on the new database. */
  prepare?(stage: OutlayStage): Promise<void>
  /** Begins a turn of so many payouts. */
  begin(stage: OutlayStage, count: number): Promise<PayoutsOfTurn>
  /** Whether all besides the payouts has come to its end too; throws Error where that was not as it should be. */
  isOver?(stage: OutlayStage): Promise<boolean>
}

/** Outlay from the host's transaction to the end of each payout; a turn enqueues them, and then works them off. */
export async function openWholePayouts(serverUrl: string, payouts: WholePayouts): Promise<Drainer> {
  const stage = await openOutlayStage(serverUrl, payouts.database, 20)
  const { database, sender } = stage
  await createHostTable(database.admin)
  await payouts.prepare?.(stage)
  let expected = 0
  let running: Engine<PoolClient> | undefined
  const enqueueAll = async ({ request }: PayoutsOfTurn) => {
    let next = 0
    const write = async () => {
      for (let n = next++; n < expected; n = next++)
        await inTransaction(database.pool, async (client) => {
          await client.query(insertInvoice(n))
          await sender.transfers.enqueue(client, request(n))
        })
    }
    await Promise.all(Array.from({ length: writers }, write))
  }
  const countEnded = () =>
    database.count(`select count(*) from outlay.transfer where stage = 'settled' and status = 'complete'`)
  return {
    name: payouts.name,
    database,
    async fill(count) {
      await stage.empty()
      const tables = ['invoice', ...payouts.tables.map((table) => `outlay.${table}`)].join(', ')
      // Without triggers: some tables refuse to be emptied.
      await database.admin.query(
        `set session_replication_role = replica; truncate ${tables}; reset session_replication_role`,
      )
      expected = count
    },
    async drain() {
      const turn = await payouts.begin(stage, expected)
      await enqueueAll(turn)
      await turn.end?.()
      running = stage.makeEngine(completingGateway, { screen: payouts.screen })
      await running.start({ concurrency })
      const isOver = async () => (await countEnded()) === expected && (await payouts.isOver?.(stage)) !== false
      await waitUntil(isOver, { timeoutMs: 3_600_000, describe: 'all payouts to end' })
      return expected
    },
    async countDone() {
      await running?.stop()
      return countEnded()
    },
    close: () => stage.close(),
  }
}
