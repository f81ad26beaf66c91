import { openHandWrittenDrain } from '../contenders/hand-written-drain.ts'
import { openOutlayDrain } from '../contenders/outlay-drain.ts'
import { openPgBossDrain } from '../contenders/pg-boss-drain.ts'
import { openPgBossRecordsDrain } from '../contenders/pg-boss-records-drain.ts'
import type { Workload } from '../contest.ts'
import { type DrainShape, drainContender, drainWarmUpSeconds } from '../drainer.ts'

/** Ways in which pg-boss drains empty jobs. */
const shapes: readonly DrainShape[] = [
  { loops: 1, batch: 1_000 },
  { loops: 4, batch: 200 },
]

/** The layouts that took the least of the server among 1 to 6 loops with batches of 200 to 1,000. */
export const handWritten: DrainShape = { loops: 3, batch: 1_000 }
const pgBossRecords: DrainShape = { loops: 3, batch: 500 }

/** Transfers that Outlay has in flight at once; each is answered at once. */
export const concurrency = 200

/** A backlog worked off with a service that answers at once. */
export const drain: Workload = {
  name: 'drain',
  title: 'One transfer of a backlog, submitted as fast as it goes by one process with its records, or one empty job.',
  seconds: 1,
  size: 100_000,
  async open(serverUrl, size) {
    const outlay = await openOutlayDrain(serverUrl, concurrency)
    const loop = await openHandWrittenDrain(serverUrl, handWritten)
    const records = await openPgBossRecordsDrain(serverUrl, pgBossRecords)
    const empty = []
    for (const shape of shapes) empty.push(await openPgBossDrain(serverUrl, shape))
    const drainers = [outlay, loop, records, ...empty]
    return {
      contests: [
        {
          name: `drain of ${size.toLocaleString('en')}`,
          contenders: drainers.map((drainer) => drainContender(drainer, size)),
          ratios: [
            { of: outlay.name, to: loop.name, aim: 0.75 },
            { of: outlay.name, to: records.name, aim: 1.5 },
            ...empty.map(({ name }) => ({ of: outlay.name, to: name })),
          ],
          references: {},
          warmUpSeconds: drainWarmUpSeconds,
        },
      ],
      close: async () => {
        for (const drainer of drainers) await drainer.close()
      },
    }
  },
}
