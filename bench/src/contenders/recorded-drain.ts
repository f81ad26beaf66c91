import type { PoolClient } from 'pg'
import type { Database } from '../database.ts'
import type { Drainer } from '../drainer.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { openOutlayStage } from './outlay-stage.ts'
import { outboxTable } from './queue.ts'
import { type Begun, countRecorded, keepToIndexes } from './transfer-records.ts'

/** Sends transfers to a service that accepts at once, in this process; returns their ids there. */
export type Submit = (begun: readonly Begun[]) => Promise<readonly string[]>

/** One of the loops of a drainer: works on a connection of its own until nothing is left. */
export type DrainLoop = (client: PoolClient, submit: Submit) => Promise<void>

/** How a drainer without Outlay finds what to send. */
export interface DrainQueue {
  /** Queues the transfers of the backlog. */
  fill(): Promise<void>
  /** Makes the loop of a turn; all loops of the turn run it. */
  makeLoop(): DrainLoop
  /** Throws Error when not so many are done. */
  prove(done: number): Promise<void>
  close(): Promise<void>
}

/** A drainer that keeps the records of Outlay without its engine, on tables that Outlay's migrations made, with their indexes. */
export async function openRecordedDrain(
  serverUrl: string,
  options: { readonly name: string; readonly database: string; readonly loops: number },
  openQueue: (database: Database) => Promise<DrainQueue>,
): Promise<Drainer> {
  const stage = await openOutlayStage(serverUrl, options.database, 20)
  const { database } = stage
  const queue = await openQueue(database)
  const runLoop = async (loop: DrainLoop, submit: Submit) => {
    const client = await database.pool.connect()
    try {
      await keepToIndexes(client)
      await loop(client, submit)
    } finally {
      client.release()
    }
  }
  return {
    name: options.name,
    database,
    async fill(count) {
      await stage.empty()
      await stage.fill(Array.from({ length: count }, (_, n) => sampleTransfer(n)))
      await database.admin.query(`truncate ${outboxTable}`)
      await queue.fill()
    },
    async drain() {
      const keys = new Set<string>()
      const submitOne = async ({ submission_key: key }: Begun) => {
        keys.add(key)
        return `remote-${key}`
      }
      const loop = queue.makeLoop()
      const submit: Submit = (begun) => Promise.all(begun.map(submitOne))
      await Promise.all(Array.from({ length: options.loops }, () => runLoop(loop, submit)))
      return keys.size
    },
    async countDone() {
      const done = await countRecorded(database)
      await queue.prove(done)
      return done
    },
    close: async () => {
      await queue.close()
      await stage.close()
    },
  }
}
