import { openBatchedPayouts } from '../contenders/batched-payouts.ts'
import type { Workload } from '../contest.ts'
import { drainContender, drainWarmUpSeconds } from '../drainer.ts'

const without = 'without a batch'
const before = 'without a batch, and without what the tables have for batches'
const inBatches = 'in batches of 500'

/** Payouts with and without a batch, from the host's transaction to their end. */
export const batches: Workload = {
  name: 'batches',
  title: 'One payout, enqueued in a host transaction of its own and worked off to its end.',
  seconds: 1,
  size: 10_000,
  async open(serverUrl, size) {
    const drainers = [
      await openBatchedPayouts(serverUrl, { name: without, database: 'bench_without_batch', batchSize: null }),
      await openBatchedPayouts(serverUrl, {
        name: before,
        database: 'bench_before_batches',
        batchSize: null,
        isBefore: true,
      }),
      await openBatchedPayouts(serverUrl, { name: inBatches, database: 'bench_batches', batchSize: 500 }),
    ]
    return {
      contests: [
        {
          name: `${size.toLocaleString('en')} payouts`,
          contenders: drainers.map((drainer) => drainContender(drainer, size)),
          figure: 'server µs',
          ratios: [
            { of: inBatches, to: without, atMost: 1.05 },
            { of: without, to: before, atMost: 1.05 },
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
