import { type Drainer, openOutlayDrain } from '../contenders/outlay-drain.ts'
import { type DrainShape, openPgBossDrain } from '../contenders/pg-boss-drain.ts'
import type { Contender, Workload } from '../contest.ts'
import { measure, usageHere } from '../measurement.ts'

/** Ways in which pg-boss drains. */
const shapes: readonly DrainShape[] = [
  { loops: 1, batch: 1_000 },
  { loops: 4, batch: 200 },
]

/** Transfers that Outlay has in flight at once; each is answered at once. */
const concurrency = 200

/** The length of a turn that only warms up. */
const warmUpSeconds = 0.1

/** A backlog worked off with a service that answers at once. */
export const drain: Workload = {
  name: 'drain',
  title:
    'One job of a backlog, worked off as fast as it goes by one process; Outlay also writes transfer, attempt and event.',
  seconds: 1,
  size: 100_000,
  async open(serverUrl, size) {
    const drainers = [await openOutlayDrain(serverUrl, concurrency)]
    for (const shape of shapes) drainers.push(await openPgBossDrain(serverUrl, shape))
    return {
      contests: [
        {
          name: `drain of ${size.toLocaleString('en')}`,
          contenders: drainers.map((drainer) => contender(drainer, size)),
          ratios: drainers.slice(1).map(({ name }) => ({ of: 'outlay', to: name, aim: 1 })),
          references: {},
          warmUpSeconds,
        },
      ],
      close: async () => {
        for (const drainer of drainers) await drainer.close()
      },
    }
  },
}

/** A turn is one backlog, however long it takes; the warm-up is a tenth of it. */
function contender(drainer: Drainer, size: number): Contender {
  const { name, database } = drainer
  return {
    name,
    async round(seconds) {
      const count = seconds === warmUpSeconds ? Math.ceil(size / 10) : size
      await drainer.fill(count)
      await database.admin.query('vacuum analyze')
      const measurement = await measure(database.admin, usageHere(database.statements), async () => ({
        operations: await drainer.drain(),
        latenciesMs: null,
      }))
      const done = await drainer.countDone()
      if (done !== count || measurement.operations !== count) {
        throw new Error(`${name}: of ${count} jobs ${measurement.operations} were handled and ${done} are done.`)
      }
      return measurement
    },
  }
}
