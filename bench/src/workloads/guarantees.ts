import { type Guarantee, openGuaranteedDrain } from '../contenders/guaranteed-drain.ts'
import { openOutlayDrain } from '../contenders/outlay-drain.ts'
import type { Workload } from '../contest.ts'
import { type Drainer, drainContender, drainWarmUpSeconds } from '../drainer.ts'
import { concurrency, handWritten } from './drain.ts'

/** As many as an engine fetches at once. */
const shape = { loops: 3, batch: 200 }

const steps: readonly Guarantee[] = ['jobs', 'order', 'claim', 'answer']

/** What each guarantee of Outlay costs a drain: a hand-written loop that gets one after the other. */
export const guaranteesWorkload: Workload = {
  name: 'guarantees',
  title:
    'One transfer of a backlog, submitted as fast as it goes, with one guarantee of Outlay more for each contender.',
  seconds: 1,
  size: 20_000,
  async open(serverUrl, size) {
    const drainers: Drainer[] = [
      await openGuaranteedDrain(serverUrl, 'records', handWritten),
      await openGuaranteedDrain(serverUrl, 'records', shape, 'bench_guaranteed_small'),
    ]
    for (const step of steps) drainers.push(await openGuaranteedDrain(serverUrl, step, shape))
    drainers.push(await openOutlayDrain(serverUrl, concurrency, 'bench_guaranteed_outlay'))
    const [first] = drainers
    return {
      contests: [
        {
          name: `drain of ${size.toLocaleString('en')}, one guarantee after the other`,
          contenders: drainers.map((drainer) => drainContender(drainer, size)),
          ratios: drainers.slice(1).map(({ name }) => ({ of: name, to: first?.name ?? '', figure: 'server µs' })),
          references: {},
          figure: 'server µs',
          warmUpSeconds: drainWarmUpSeconds,
        },
      ],
      close: async () => {
        for (const drainer of drainers) await drainer.close()
      },
    }
  },
}
