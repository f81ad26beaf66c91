import type { Engine } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import type { Drainer } from '../drainer.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { acceptingGateway, openOutlayStage } from './outlay-stage.ts'
import { countJobs } from './queue.ts'
import { countRecorded } from './transfer-records.ts'

/** Outlay with a gateway that accepts at once, in this process. */
export async function openOutlayDrain(
  serverUrl: string,
  concurrency: number,
  databaseName = 'bench_outlay_drain',
): Promise<Drainer> {
  const stage = await openOutlayStage(serverUrl, databaseName, 20)
  const { database } = stage
  let expected = 0
  let running: Engine<PoolClient> | undefined
  return {
    name: 'outlay',
    database,
    async fill(count) {
      await stage.empty()
      await stage.fill(Array.from({ length: count }, (_, n) => sampleTransfer(n)))
      expected = count
    },
    async drain() {
      const keys = new Set<string>()
      running = stage.makeEngine(acceptingGateway(({ idempotencyKey }) => void keys.add(idempotencyKey)))
      await running.start({ concurrency })
      await waitUntil(async () => keys.size >= expected && (await countJobs(database)) === 0, {
        timeoutMs: 3_600_000,
        describe: 'the backlog to be worked off',
      })
      return keys.size
    },
    async countDone() {
      await running?.stop()
      await stage.countSubmitted()
      return countRecorded(database)
    },
    close: () => stage.close(),
  }
}
