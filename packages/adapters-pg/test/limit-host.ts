import type { SumLimit } from '@outlay/core'
import { type HostEngine, type TestHost, testHost } from './host.ts'
import { noonZone } from './limit-claims.ts'
import { slowWorker } from './slow-worker.ts'

/** Who sets limits in tests. */
export const note = { actor: 'petra', reason: 'as the board decided' }

/** 30 USD a day for each account. */
export const daily: SumLimit = { name: 'daily', most: { USD: '30' }, span: 'day', zone: noonZone, per: ['account'] }

/** A host of tests of limits on sums. Transactions that it begins are rolled back after each test. */
export async function limitHost() {
  const host: TestHost = await testHost()
  const { pool, rows, commit } = host
  return {
    ...host,
    slow: slowWorker(() => pool),
    set: (engine: HostEngine, ...limits: readonly SumLimit[]) =>
      commit((tx) => engine.limits.set(tx, limits, { ...note, clear: limits.length === 0 })),
    async used(): Promise<readonly number[]> {
      const found = await rows('select used::float as used from outlay.limit_use order by used')
      return found.map((row) => row.used)
    },
    async stages(): Promise<Readonly<Record<string, number>>> {
      const found = await rows('select stage, count(*)::integer as count from outlay.transfer group by 1')
      return Object.fromEntries(found.map(({ stage, count }) => [stage, count]))
    },
    /** Lets the windows of now be those of so many days ago; in front of today for less than none, as after a clock that was set back. */
    async passDays(days: number): Promise<void> {
      await rows(
        `with gone as (delete from outlay.limit_use returning *)
         insert into outlay.limit_use (counter, scope, began_at, until, used)
         select counter, scope, began_at - make_interval(days => $1), until - make_interval(days => $1), used from gone order by began_at`,
        [days],
      )
      await rows(
        'update outlay.limit_charge set began_at = began_at - make_interval(days => $1), until = until - make_interval(days => $1)',
        [days],
      )
    },
  }
}
