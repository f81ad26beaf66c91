import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '@outlay/testing'
import { type FairnessStage, openFairnessStage, smallAccounts } from '../contenders/fairness-stage.ts'
import type { Contender, Workload } from '../contest.ts'
import { measure, usageHere } from '../measurement.ts'
import { quantile } from '../spread.ts'

const smallest = 1_000

/** Delay of the service's answers, in milliseconds. */
const latencyMs = 5

/** Dispatches of the large account before the small ones enqueue. */
const before = 100

const transfers = smallAccounts.count * smallAccounts.each
const reference = `the ${transfers} transfers themselves`
const figures = { dispatches: 'dispatches until done', claims: 'fetch and claim p99 ms' } as const

/** Small accounts behind a large one. */
export const fairness: Workload = {
  name: 'fairness',
  title: `One dispatch: ${smallAccounts.count} accounts with ${smallAccounts.each} transfers each come while one account has a backlog.`,
  seconds: 3,
  size: 100_000,
  async open(serverUrl, size) {
    const sizes = [...new Set([smallest, 100_000, size])].filter((one) => one <= size)
    const stages: FairnessStage[] = []
    for (const backlog of sizes) stages.push(await openFairnessStage(serverUrl, backlog, () => sleep(latencyMs)))
    const [least] = stages.map(({ name }) => name)
    return {
      contests: [
        {
          name: 'fairness',
          contenders: stages.map(contender),
          ratios: stages.flatMap(({ name }) => [
            { of: name, to: reference, atMost: 1.5 },
            ...(least === undefined || name === least
              ? []
              : [{ of: name, to: least, figure: figures.claims, atMost: 1.3 }]),
          ]),
          references: { [reference]: transfers },
          figure: figures.dispatches,
          warmUpSeconds: 1,
        },
      ],
      close: async () => {
        for (const stage of stages) await stage.close()
      },
    }
  },
}

/** The worker processes the backlog, then the small accounts enqueue; the turn continues for so long, for the times of claims. */
function contender(stage: FairnessStage): Contender {
  const { name, database } = stage
  return {
    name,
    async round(seconds) {
      await stage.top()
      await database.admin.query('vacuum analyze')
      let [dispatches, small, after, untilDone] = [0, 0, 0, 0]
      let haveCome = false
      stage.readClaimTimes()
      const measurement = await measure(database.admin, usageHere(database.statements), async () => {
        const endsAt = performance.now() + seconds * 1000
        await stage.start((isSmall) => {
          dispatches += 1
          if (haveCome) after += 1
          if (isSmall) small += 1
          if (isSmall && small === transfers) untilDone = after
        })
        await waitUntil(() => dispatches >= before, { describe: 'the first dispatches' })
        await stage.enqueueSmall()
        haveCome = true
        // A dispatch before the host's commit returned does not count as after it.
        const early = small
        await waitUntil(() => small >= transfers, { timeoutMs: 600_000, describe: 'the small accounts' })
        untilDone += early
        await sleep(Math.max(0, endsAt - performance.now()))
        await stage.stop()
        const claims = quantile(stage.readClaimTimes(), 0.99)
        return {
          operations: dispatches,
          latenciesMs: null,
          figures: { [figures.dispatches]: untilDone, [figures.claims]: claims },
        }
      })
      if (small !== transfers) throw new Error(`${name}: ${small} of ${transfers} were dispatched.`)
      return measurement
    },
  }
}
