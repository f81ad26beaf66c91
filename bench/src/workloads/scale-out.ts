import { setTimeout as sleep } from 'node:timers/promises'
import { type OutlayStage, openOutlayStage } from '../contenders/outlay-stage.ts'
import { startWorkerProcess, sumUsage, type WorkerProcess } from '../contenders/worker-process.ts'
import type { Contender, Workload } from '../contest.ts'
import { measure } from '../measurement.ts'
import { sampleTransfer } from '../sample-transfer.ts'

const processCounts = [1, 2, 4]

/** Requests under way at once in each process, and the time of each. */
const concurrency = 20
const latencyMs = 40

/** The most that one process can do. */
const idealPerSecond = (concurrency / latencyMs) * 1000

/** Time that the processes get before they are measured, and what the backlog must last for beyond, in seconds. */
const rampSeconds = 2
const reserveSeconds = 2

const nameOf = (processes: number) => (processes === 1 ? '1 process' : `${processes} processes`)

/** More worker processes at one backlog. */
export const scaleOut: Workload = {
  name: 'scale-out',
  title: `One transfer of a backlog, submitted in ${latencyMs} ms; ${concurrency} under way at once in each worker process.`,
  seconds: 5,
  async open(serverUrl) {
    const stage = await openOutlayStage(serverUrl, 'bench_scale_out', 10)
    return {
      contests: [
        {
          name: 'scale-out',
          contenders: processCounts.map((processes) => contender(stage, processes)),
          ratios: [
            ...[2, 4].map((processes) => ({ of: nameOf(processes), to: nameOf(1), aim: 1 })),
            { of: nameOf(4), to: nameOf(1), figure: 'statements', atMost: 1.1 },
            { of: nameOf(1), to: 'ideal of one process' },
          ],
          references: { 'ideal of one process': idealPerSecond },
          warmUpSeconds: 1,
        },
      ],
      close: () => stage.close(),
    }
  },
}

/** Counts what is handled while all processes work; at the end each handled transfer is submitted once, by any of them. */
function contender(stage: OutlayStage, processes: number): Contender {
  const { database } = stage
  return {
    name: nameOf(processes),
    async round(seconds) {
      const size = Math.ceil(idealPerSecond * processes * (rampSeconds + seconds + reserveSeconds))
      await stage.empty()
      await stage.fill(Array.from({ length: size }, (_, n) => sampleTransfer(n)))
      await database.admin.query('vacuum analyze')
      const workers = await Promise.all(
        Array.from({ length: processes }, () =>
          startWorkerProcess({ databaseUrl: database.url, concurrency, latencyMs }),
        ),
      )
      await sleep(rampSeconds * 1000)
      const measurement = await measure(
        database.admin,
        () => sumUsage(workers),
        async () => {
          const before = await countHandled(workers)
          await sleep(seconds * 1000)
          return { operations: (await countHandled(workers)) - before, latenciesMs: null }
        },
      )
      const ended = await Promise.all(workers.map((worker) => worker.stop()))
      const handled = ended.reduce((sum, count) => sum + count, 0)
      const submitted = await stage.countSubmitted()
      if (handled !== submitted || submitted === size) {
        throw new Error(`${nameOf(processes)}: ${handled} of ${size} were handled and ${submitted} are submitted.`)
      }
      return measurement
    },
  }
}

async function countHandled(workers: readonly WorkerProcess[]): Promise<number> {
  const counts = await Promise.all(workers.map((worker) => worker.handled()))
  return counts.reduce((sum, count) => sum + count, 0)
}
