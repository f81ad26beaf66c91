import { openScreenedPayouts } from '../contenders/screened-payouts.ts'
import type { Workload } from '../contest.ts'
import { type Drainer, drainContender, drainWarmUpSeconds } from '../drainer.ts'

const none = 'no screening'
const creator = 'no screening, with a creator'
const screened = 'screened, answered at once'

/** What the port `screen` costs a payout, from the host's transaction to its end. */
export const screening: Workload = {
  name: 'screening',
  title: 'One payout, enqueued in a host transaction of its own and worked off to its end.',
  seconds: 1,
  size: 10_000,
  async open(serverUrl, size) {
    const drainers: Drainer[] = []
    for (const [at, name] of [none, creator, screened].entries())
      drainers.push(
        await openScreenedPayouts(serverUrl, {
          name,
          database: `bench_screening_${at}`,
          hasCreator: name !== none,
          isScreened: name === screened,
        }),
      )
    const figures = ['server µs', 'WAL bytes', 'statements', 'per second']
    return {
      contests: [
        {
          name: `${size.toLocaleString('en')} payouts`,
          contenders: drainers.map((drainer) => drainContender(drainer, size)),
          figure: 'server µs',
          ratios: [creator, none].flatMap((to) => figures.map((figure) => ({ of: screened, to, figure }))),
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
