import { openDbosDispatch } from '../contenders/dbos-dispatch.ts'
import { openJobTableDispatch } from '../contenders/job-table-dispatch.ts'
import { openOutlayDispatch } from '../contenders/outlay-dispatch.ts'
import { openPgBossDispatch, type WorkShape } from '../contenders/pg-boss-dispatch.ts'
import type { Ratio, Workload } from '../contest.ts'
import { dispatchContender } from '../dispatch-worker.ts'
import { drawLatencies, heavyTail, meanLatencyMs } from '../latency.ts'

/** Requests under way at once. */
const inFlight = 100

const seed = 20_261_121

/** Layouts of a hundred slots of `boss.work`, loops × batch. */
const shapes: readonly WorkShape[] = [
  { loops: 2, batch: 50 },
  { loops: 5, batch: 20 },
  { loops: 20, batch: 5 },
  { loops: 50, batch: 2 },
  { loops: 100, batch: 1 },
]

/** A service with a heavy-tailed latency behind a hundred slots. */
export const dispatch: Workload = {
  name: 'dispatch',
  title:
    'One job: fetched from the backlog, handled in 40 ms (95 %), 400 ms (4 %) or 2 s (1 %), and settled; 100 under way at once.',
  seconds: 8,
  async open(serverUrl) {
    const idealPerSecond = (inFlight / meanLatencyMs(heavyTail)) * 1000
    const workers = [
      await openOutlayDispatch(serverUrl, inFlight),
      await openJobTableDispatch(serverUrl, inFlight),
      await openDbosDispatch(serverUrl, inFlight),
    ]
    const rivals = workers.slice(1)
    for (const shape of shapes) workers.push(await openPgBossDispatch(serverUrl, shape))
    const ratios: readonly Ratio[] = [
      { of: 'outlay', to: 'ideal', aim: 0.95 },
      ...rivals.map(({ name }) => ({ of: 'outlay', to: name })),
      ...shapes.map(({ loops, batch }) => ({
        of: 'outlay',
        to: `work ${loops}×${batch}`,
        ...(loops === 5 && batch === 20 ? { aim: 5 } : {}),
      })),
    ]
    const draw = (count: number) => drawLatencies(heavyTail, count, seed)
    return {
      contests: [
        {
          name: `${inFlight} in flight`,
          contenders: workers.map((worker) => dispatchContender(worker, draw, idealPerSecond)),
          ratios,
          references: { ideal: idealPerSecond },
          warmUpSeconds: 1,
        },
      ],
      close: async () => {
        for (const worker of workers) await worker.close()
      },
    }
  },
}
