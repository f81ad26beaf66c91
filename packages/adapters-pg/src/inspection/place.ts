import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'
import { workerOf } from './worker-name.ts'

/** A database as an operator knows it: its names, what waits in it, and whether workers run. */
export interface PlaceFacts {
  /** Name of the database on its server. */
  readonly database: string
  /** Where workers said that they run; null before any has started, or when they named none. */
  readonly deployment: string | null
  readonly environment: string | null
  /** Transfers that wait to be sent, and their accounts. */
  readonly waiting: { readonly transfers: number; readonly accounts: number }
  readonly workers: {
    /** Milliseconds since a running engine supervised the queue, which it does every five seconds; null when none ever did. */
    readonly supervisedMs: number | null
    /** Sessions that listen for wake-ups: one for each engine that runs, unless it only polls. */
    readonly listening: number
    /** Workers that claimed a transfer within the last five minutes. */
    readonly claiming: number
  }
}

const texts = {
  place: `select current_database()::text as database, h.deployment, h.environment, w.transfers, w.accounts
    from (
      select count(*)::integer as transfers, count(distinct t.account_id)::integer as accounts from {{schema}}.transfer t
      where t.remote_id is null and t.status = 'pending' and t.stage in ('queued', 'submitting', 'awaiting_funds')
        and ($1::text is null or t.account_id = $1)
    ) w
    left join {{schema}}.known_database h on true`,
  workers: `select round(extract(epoch from clock_timestamp() - {{schema}}.queue_supervised_at()) * 1000)::float8 as supervised_ms,
      (select count(*)::integer from pg_stat_activity s
        where s.datname = current_database() and s.query = 'listen "{{channel}}"') as listening,
      (select count(distinct ${workerOf})::integer from {{schema}}.attempt a
        where a.claimed_at > statement_timestamp() - interval '5 minutes') as claiming`,
  unsettled: `select ((select count(*) from (
        select from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' limit $1) w)
      + (select count(*) from (select from {{schema}}.transfer t where t.next_poll_at is not null limit $1) p))::integer as count`,
} as const

/** Makes the reads that show where a command acts. */
export function createPlaceRead<Tx>(driver: Driver<Tx>, { tokens, channel }: DatabaseNames) {
  const sql = statements({ ...tokens, channel }, texts)
  const workers = async (): Promise<PlaceFacts['workers']> =>
    readWorkers((await driver.query(sql.workers, []))[0] ?? {})
  return {
    /** Whether workers run. */
    workers,
    /** How many transfers are not settled. Counts no more than `most` that the service may not have, and as many that it has. */
    async countUnsettled(most: number): Promise<number> {
      return readCount((await driver.query(sql.unsettled, [most]))[0] ?? {}).count
    },
    /** Which database this is, what waits in it, of one account or of all, and whether workers run. Reads live rows. */
    async place(accountId?: string): Promise<PlaceFacts> {
      const [row = {}] = await driver.query(sql.place, [accountId ?? null])
      const { database, deployment, environment, transfers, accounts } = readPlace(row)
      return { database, deployment, environment, waiting: { transfers, accounts }, workers: await workers() }
    },
  }
}

const readCount = rowDecoder('count', { count: Column.integer })

const readWorkers = rowDecoder('workers', {
  supervisedMs: Column.nullable(Column.number),
  listening: Column.integer,
  claiming: Column.integer,
})

const readPlace = rowDecoder('place', {
  database: Column.text,
  deployment: Column.nullable(Column.text),
  environment: Column.nullable(Column.text),
  transfers: Column.integer,
  accounts: Column.integer,
})
