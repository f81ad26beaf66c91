import { type GrowthStage, openGrowthStage } from '../contenders/growth-stage.ts'
import type { Contender, Contest, Workload } from '../contest.ts'
import { enqueueContender } from '../enqueue-host.ts'
import { measure, usageHere } from '../measurement.ts'

/** Clients at once, for enqueues and reads. */
const clients = 16

/** Transfers that a turn of dispatching works off. */
const backlog = 5_000

/** A database that has been in use for years. */
export const growth: Workload = {
  name: 'growth',
  title: `One enqueue, dispatch, get or list, ${clients} clients at once, in a new database and in those with history.`,
  seconds: 3,
  size: 1_000_000,
  async open(serverUrl, size) {
    const histories = [...new Set([0, 1_000_000, size])].filter((history) => history <= size)
    const stages: GrowthStage[] = []
    for (const history of histories) stages.push(await openGrowthStage(serverUrl, history, clients))
    const numbers = { next: 1 }
    const contests = [
      contest('get', stages, (stage) => readContender(stage, stage.get)),
      contest('list', stages, (stage) => readContender(stage, stage.list)),
      contest('dispatch', stages, dispatchContender),
      contest('enqueue', stages, (stage) => enqueueContender(stage, clients, numbers)),
    ]
    return {
      contests,
      close: async () => {
        for (const stage of stages) await stage.close()
      },
    }
  },
}

function contest(what: string, stages: readonly GrowthStage[], make: (stage: GrowthStage) => Contender): Contest {
  const [empty = '', ...grown] = stages.map(({ name }) => name)
  return {
    name: `growth, ${what}`,
    contenders: stages.map(make),
    ratios: grown.flatMap((full) => [
      { of: full, to: empty, aim: 0.9 },
      { of: full, to: empty, figure: 'server µs' },
    ]),
    references: {},
    warmUpSeconds: 1,
  }
}

/** Every read is checked as it is made. */
function readContender({ name, database }: GrowthStage, read: (n: number) => Promise<void>): Contender {
  return {
    name,
    round: (seconds) =>
      measure(database.admin, usageHere(database.statements), async () => {
        const endsAt = performance.now() + seconds * 1000
        const latenciesMs: number[] = []
        let next = 0
        const client = async () => {
          for (let from = performance.now(); from < endsAt; from = performance.now()) {
            await read(next++)
            latenciesMs.push(performance.now() - from)
          }
        }
        await Promise.all(Array.from({ length: clients }, client))
        return { operations: latenciesMs.length, latenciesMs }
      }),
  }
}

/** A turn is one backlog; each transfer of it is handled once and submitted. */
function dispatchContender(stage: GrowthStage): Contender {
  const { name, database } = stage
  const countSubmitted = () => database.count(`select count(*) from outlay.transfer where stage = 'submitted'`)
  return {
    name,
    async round() {
      const before = await countSubmitted()
      const { drain, end } = await stage.fill(backlog)
      const measurement = await measure(database.admin, usageHere(database.statements), async () => ({
        operations: await drain(),
        latenciesMs: null,
      }))
      await end()
      const submitted = (await countSubmitted()) - before
      if (submitted !== backlog) throw new Error(`${name}: ${submitted} of ${backlog} are submitted.`)
      return measurement
    },
  }
}
