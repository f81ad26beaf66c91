import { Column, type PollTrouble, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

/** Transfers of an account that do not get through to the service, by gateway and by the client that sends them. */
export interface ObstructedAccount {
  /** `poll_failed` of submitted transfers alone. */
  readonly reason: PollTrouble
  readonly accountId: string
  readonly gateway: string
  /** The client by `Gateway.identify`, which for HTTP contains the address; null where the gateway does not distinguish clients. */
  readonly client: string | null
  readonly count: number
  /** True of transfers that the service has, whose status is not read. */
  readonly isSubmitted: boolean
  /** The oldest of them. */
  readonly sample: string
  /** Milliseconds since the oldest has not got through. */
  readonly sinceMs: number
  /** What its last attempt came to; null when none was answered. */
  readonly lastDetail: string | null
  /** How many accounts and clients there are of the reason; a list has at most a hundred. */
  readonly groups: number
}

const texts = {
  health_obstructed: `select g.reason, g.account_id, g.gateway, nullif(g.client, '') as client, g.count, g.is_submitted, g.sample, g.groups,
      coalesce(round(extract(epoch from clock_timestamp() - coalesce(g.polled_since, {{schema}}.obstructed_since(g.sample))) * 1000), 0)::float8 as since_ms, (
        select a.detail from {{schema}}.attempt a where a.transfer_id = g.sample and not g.is_submitted and a.answered_at is not null
        order by a.attempt desc limit 1) as last_detail
    from (
      select t.reason, t.account_id, t.gateway, t.client, t.is_submitted, count(*)::integer as count, min(t.id) as sample,
        min(t.updated_at) filter (where t.is_submitted) as polled_since,
        (count(*) over (partition by t.reason))::integer as groups,
        row_number() over (partition by t.reason order by min(t.id)) as place
      from (
        select u.*, false as is_submitted from {{schema}}.transfer u
        where u.remote_id is null and u.status = 'pending' and u.stage in ('queued', 'submitting') and u.reason = any ({{schema}}.obstacles())
        union all
        select s.*, true from {{schema}}.transfer s
        where s.next_poll_at is not null and s.stage = 'submitted' and s.reason = any ({{schema}}.obstacles())
      ) t
      group by t.reason, t.account_id, t.gateway, t.client, t.is_submitted
    ) g where g.place <= 100 order by g.reason, g.place`,
} as const

/** Reads what does not get through: by reason, that of the oldest transfer first, at most a hundred of each. */
export async function readObstructed<Tx>(
  driver: Driver<Tx>,
  { tokens }: DatabaseNames,
): Promise<readonly ObstructedAccount[]> {
  return (await driver.query(statements(tokens, texts).health_obstructed, [])).map(readRow)
}

const readRow: (row: Row) => ObstructedAccount = rowDecoder('obstructed account', {
  reason: Column.word<PollTrouble>(),
  accountId: Column.text,
  gateway: Column.text,
  client: Column.nullable(Column.text),
  count: Column.integer,
  isSubmitted: Column.boolean,
  sample: Column.text,
  sinceMs: Column.number,
  lastDetail: Column.nullable(Column.text),
  groups: Column.integer,
})
