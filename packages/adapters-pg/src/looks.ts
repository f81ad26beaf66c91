import type { FollowedTransfer } from '@outlay/core'
import type { Driver } from './driver.ts'
import { statements } from './statement.ts'
import { readFollowed } from './transfer-row.ts'

const texts = {
  take_due: 'select * from {{schema}}.take_due($1, $2)',
  look_again: `update {{schema}}.transfer t set follow_at = clock_timestamp() + n.ms * interval '1 millisecond'
    from unnest($1::text[], $2::bigint[]) as n (id, ms) where t.id = n.id and t.stage = 'submitted'`,
  look_at_sighted: `with met as (
      delete from {{schema}}.sighting s using {{schema}}.transfer t
      where t.remote_id = s.remote_id and t.account_id = s.account_id returning t.id
    ), forgotten as (
      delete from {{schema}}.sighting s where s.seen_at < clock_timestamp() - interval '1 hour'
    )
    update {{schema}}.transfer t set follow_at = clock_timestamp() from met where t.id = met.id and t.stage = 'submitted'`,
} as const

/** The store of looks: which submitted transfers are due for one. */
export type LookStore = ReturnType<typeof createLookStore>

/** Makes the store of looks on a driver. */
export function createLookStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Takes transfers that are due; other workers keep away from them for `leaseMs` milliseconds. */
    async takeDue(limit: number, leaseMs: number): Promise<readonly FollowedTransfer[]> {
      return (await driver.query(sql.take_due, [limit, leaseMs])).map(readFollowed)
    },
    /** Makes transfers due that were told of before their ids were known; forgets what was told for an hour in vain. */
    async lookAtSighted(): Promise<void> {
      await driver.query(sql.look_at_sighted, [])
    },
    /** Says when the next look is due, for those that are still followed. */
    async lookAgain(looks: readonly { readonly id: string; readonly ms: number }[]): Promise<void> {
      if (looks.length === 0) return
      await driver.query(sql.look_again, [looks.map((look) => look.id), looks.map((look) => Math.round(look.ms))])
    },
  }
}
