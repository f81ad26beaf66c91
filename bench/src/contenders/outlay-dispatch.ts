import type { Engine } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { DispatchWorker } from '../dispatch-worker.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { acceptingGateway, numberOfSubmission, openOutlayStage } from './outlay-stage.ts'

/** Outlay's dispatcher with a gateway that waits and then accepts. */
export async function openOutlayDispatch(serverUrl: string, inFlight: number): Promise<DispatchWorker> {
  const stage = await openOutlayStage(serverUrl, 'bench_outlay_dispatch', 20)
  let running: Engine<PoolClient> | undefined
  return {
    name: 'outlay',
    database: stage.database,
    async fill(latenciesMs) {
      await stage.empty()
      await stage.fill(latenciesMs.map((_, n) => sampleTransfer(n)))
    },
    async start(handle) {
      running = stage.makeEngine(acceptingGateway((submission) => handle(numberOfSubmission(submission))))
      await running.start({ concurrency: inFlight })
    },
    stop: async () => running?.stop(),
    countDone: async () => ({ done: await stage.countSubmitted(), repeated: 0 }),
    close: () => stage.close(),
  }
}
