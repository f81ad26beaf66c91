import {
  type EnqueueManyHost,
  openInsertMany,
  openOutlayMany,
  openPgBossMany,
  type Payout,
} from '../contenders/enqueue-many.ts'
import type { Contender, Contest, Workload } from '../contest.ts'
import { inTransaction } from '../database.ts'
import { givenUp } from '../enqueue-host.ts'
import { measure, usageHere } from '../measurement.ts'
import { sampleTransfer } from '../sample-transfer.ts'

/** Payouts in a call, and the aim as a share of the rate of one INSERT. */
const sizes = [
  { size: 10_000, aim: 0.8 },
  { size: 100_000, aim: 0.85 },
]

/** Many transfers, over 50 accounts, in one call inside one host transaction. */
export const enqueueMany: Workload = {
  name: 'enqueue-many',
  title:
    'One of many transfers that one host transaction enqueues in one call, over 50 accounts; p50 is that of a call.',
  seconds: 1,
  async open(serverUrl) {
    const hosts = [await openOutlayMany(serverUrl), await openInsertMany(serverUrl), await openPgBossMany(serverUrl)]
    return {
      contests: sizes.map(({ size, aim }) => contest(hosts, size, aim)),
      close: async () => {
        for (const host of hosts) await host.close()
      },
    }
  },
}

function contest(hosts: readonly EnqueueManyHost[], size: number, aim: number): Contest {
  return {
    name: `${size} in one call`,
    contenders: hosts.map((host) => contender(host, size)),
    ratios: [
      { of: 'outlay enqueueMany', to: 'one INSERT from unnest', aim },
      { of: 'outlay enqueueMany', to: 'unnest + boss.insert', aim: 1.4 },
    ],
    references: {},
    warmUpSeconds: 0.01,
  }
}

const payouts = (from: number, count: number): readonly Payout[] =>
  Array.from({ length: count }, (_, index) => sampleTransfer(from + index))

/** Calls until the time is over, at least once, into tables that are empty at first. */
function contender(host: EnqueueManyHost, size: number): Contender {
  const { name, database, tables } = host
  const count = async () => {
    const counts: number[] = []
    for (const table of tables) counts.push(await database.count(`select count(*) from ${table}`))
    return counts
  }
  return {
    name,
    async round(seconds) {
      await database.admin.query(`truncate ${tables.join(', ')}`)
      await inTransaction(database.pool, async (client) => {
        await host.enqueue(client, payouts(0, 10))
        throw givenUp
      }).catch((error: unknown) => {
        if (error !== givenUp) throw error
      })
      if ((await count()).some((rows) => rows > 0)) throw new Error(`${name}: a rollback left rows.`)
      let next = payouts(0, size)
      const measurement = await measure(database.admin, usageHere(database.statements), async () => {
        const endsAt = performance.now() + seconds * 1000
        const latenciesMs: number[] = []
        for (let from = 0; from === 0 || performance.now() < endsAt; from += size) {
          next = from === 0 ? next : payouts(from, size)
          const started = performance.now()
          await inTransaction(database.pool, async (client) => void (await host.enqueue(client, next)))
          latenciesMs.push(performance.now() - started)
        }
        return { operations: latenciesMs.length * size, latenciesMs }
      })
      const rows = await count()
      if (rows.some((found) => found !== measurement.operations)) {
        throw new Error(`${name}: ${measurement.operations} transfers left ${rows} rows in ${tables.join(', ')}.`)
      }
      return measurement
    },
  }
}
