import { Column, type PollTrouble, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'
import { readUnattended } from '../dispatch/gateways.ts'
import type { DatabaseNames } from '../schema/database-names.ts'
import { type Group, groupText as group, groupColumns, readGroup } from './group.ts'

/** Transfers that one reason keeps from being sent. */
export interface DeferredTransfers extends Group {
  /** Any but those that a pause, refused credentials, a lack of funds or an obstacle gives: `rate_limited`, `registration_unknown` … */
  readonly reason: string
  /** Accounts that they are of, at most five. */
  readonly accounts: readonly string[]
  /** What the last attempt of the oldest of them came to; null when it says nothing. */
  readonly lastDetail: string | null
}

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

/** Reads over `waiting`, which the service may not have, and `polled`, which it has. */
const facts = {
  // In two reads, a transfer that is submitted in between would seem a fault.
  jobs: `select g.kind, ${group} from (
      select case
          when p.id is not null and not p.is_waiting and not p.is_active then 'missing'
          when p.id is null then 'stray'
          when p.is_active and p.heartbeat_at < clock_timestamp() - interval '30 seconds' then 'silent'
          when p.is_waiting and p.due_at < statement_timestamp() then 'due'
        end as kind,
        coalesce(p.id, p.job::text) as id, p.job,
        case when p.is_waiting and p.id is not null then p.due_at
          when p.is_active then p.heartbeat_at else coalesce(p.updated_at, p.created_at) end as at
      from (
        select w.id, w.updated_at, j.job, coalesce(j.is_waiting, false) as is_waiting, coalesce(j.is_active, false) as is_active,
          j.created_at, j.due_at, j.heartbeat_at
        from (
          select n.id, {{schema}}.job_id(n.id) as job, n.updated_at from waiting n where n.stage in ('queued', 'submitting', 'awaiting_funds')) w
        full join {{schema}}.queue_jobs() j on j.job = w.job
      ) p
    ) g
    where g.kind is not null and (g.kind <> 'stray' or not exists (select 1 from {{schema}}.transfer t where t.id = {{schema}}.transfer_of_job(g.job)))
    group by g.kind`,
  unknown: `select ${group} from (
      select w.id, w.unknown_since as at from waiting w
      where w.stage in ('queued', 'submitting', 'awaiting_funds') and w.unknown_since is not null
    ) g`,
  blocked: `select g.reason, ${group} from (
      select w.id, coalesce(w.reason, 'unspecified') as reason, w.updated_at as at from waiting w where w.stage = 'blocked'
    ) g group by g.reason order by g.reason`,
  deferred: `select p.*, (
      select a.detail from {{schema}}.attempt a where a.transfer_id = p.samples[1] and a.answered_at is not null
      order by a.attempt desc limit 1) as last_detail
    from (
      select g.reason, ${group}, (array_agg(distinct g.account_id))[1:5] as accounts from (
        select w.id, w.account_id, w.reason, greatest(w.created_at, w.not_before) as at from waiting w
        where w.stage in ('queued', 'submitting') and w.unknown_since is null
          and w.reason not in ('account_paused', 'unauthenticated', 'insufficient_balance', 'gateway_held', 'batch_paused')
          and w.reason <> all ({{schema}}.obstacles())
      ) g group by g.reason
    ) p order by p.reason`,
  funds: `select ${group} from (select w.id, w.created_at as at from waiting w where w.stage = 'awaiting_funds') g`,
  held: `select ${group} from (
      select h.transfer_id as id, min(h.since) as at from {{schema}}.hold h join waiting w on w.id = h.transfer_id and w.stage = 'held'
      group by h.transfer_id
    ) g`,
  obstructed: `select g.reason, g.account_id, g.gateway, nullif(g.client, '') as client, g.count, g.is_submitted, g.sample, g.groups,
      coalesce(round(extract(epoch from clock_timestamp() - coalesce(g.polled_since, {{schema}}.obstructed_since(g.sample))) * 1000), 0)::float8 as since_ms, (
        select a.detail from {{schema}}.attempt a where a.transfer_id = g.sample and not g.is_submitted and a.answered_at is not null
        order by a.attempt desc limit 1) as last_detail
    from (
      select t.reason, t.account_id, t.gateway, t.client, t.is_submitted, count(*)::integer as count, min(t.id) as sample,
        min(t.updated_at) filter (where t.is_submitted) as polled_since,
        (count(*) over (partition by t.reason))::integer as groups,
        row_number() over (partition by t.reason order by min(t.id)) as place
      from (
        select w.*, false as is_submitted from waiting w where w.stage in ('queued', 'submitting') and w.reason = any ({{schema}}.obstacles())
        union all
        select p.*, true from polled p where p.reason = any ({{schema}}.obstacles())
      ) t
      group by t.reason, t.account_id, t.gateway, t.client, t.is_submitted
    ) g where g.place <= 100 order by g.reason, g.place`,
  // Without the offset, each transfer is asked about, not each gateway.
  unattended: `select g.* from (
      select t.gateway, count(*)::integer as transfers, min(t.id) as sample, {{schema}}.iso(min(t.created_at)) as since
      from (select w.* from waiting w union all select p.* from polled p) t
      group by t.gateway offset 0
    ) g where {{schema}}.is_unattended(g.gateway) order by g.gateway`,
  missing: `select ${group} from (
      select p.id, p.unknown_since as at from polled p where p.reason = 'missing_at_service'
    ) g`,
  overdue_polls: `select ${group} from (
      select p.id, p.next_poll_at as at from polled p where p.next_poll_at < statement_timestamp()
    ) g`,
  submitted: `select ${group} from (select p.id, p.created_at as at from polled p) g`,
} as const

type Kind = keyof typeof facts

const columns = (row: string): string =>
  [
    'id',
    'account_id',
    'gateway',
    'client',
    'stage',
    'reason',
    'unknown_since',
    'created_at',
    'updated_at',
    'not_before',
    'next_poll_at',
  ]
    .map((name) => `${row}.${name}`)
    .join(', ')

const texts = {
  // The plan counts on far more than there is, since either side of a join may be all of it.
  health_plain: `select set_config('jit', 'off', true)`,
  // Where a million wait, most of the time is that of finding their rows, which is done once.
  health_waiting: `with waiting as materialized (
      select ${columns('t')} from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' and t.stage <> 'settled'
    ), polled as materialized (
      select ${columns('t')} from {{schema}}.transfer t where t.next_poll_at is not null and t.stage = 'submitted'
    )
    ${Object.entries(facts)
      .map(([kind, text]) => `select '${kind}' as kind, to_jsonb(x) as facts from (${text}) x`)
      .join('\n    union all ')}`,
} as const

/** What is known of the transfers that wait or are under way. Reads all of them, once. */
export async function readWaitingHealth<Tx>(driver: Driver<Tx>, { tokens }: DatabaseNames) {
  const sql = statements(tokens, texts)
  const rows = await driver.transaction(async (tx) => {
    await driver.execute(tx, sql.health_plain, [])
    return driver.execute(tx, sql.health_waiting, [])
  })
  const found = rows.map((row) => readFacts(row))
  const all = (wanted: Kind): readonly Row[] => found.flatMap(({ kind, facts }) => (kind === wanted ? [facts] : []))
  const one = (wanted: Kind): Group => readGroup(all(wanted)[0] ?? {})
  const jobs = new Map(all('jobs').map((row) => [readKind(row).kind, readGroup(row)]))
  const job = (kind: string): Group => jobs.get(kind) ?? { count: 0, samples: [], oldestMs: null }
  return {
    jobs: { missing: job('missing'), stray: job('stray'), silent: job('silent'), due: job('due') },
    transfers: {
      unknown: one('unknown'),
      blocked: all('blocked').map(readBlocked),
      awaitingFunds: one('funds'),
      held: one('held'),
      deferred: all('deferred').map(readDeferred),
      missing: one('missing'),
      overduePolls: one('overdue_polls'),
      submitted: one('submitted'),
    },
    obstructed: all('obstructed').map(readObstructed),
    unattendedGateways: all('unattended').map(readUnattended),
  }
}

const readFacts = rowDecoder('facts', { kind: Column.text, facts: Column.json<Row>() })
const readKind = rowDecoder('jobs', { kind: Column.text })
const readBlocked = rowDecoder('blocked transfers', { ...groupColumns, reason: Column.text })

const readDeferred: (row: Row) => DeferredTransfers = rowDecoder('deferred transfers', {
  ...groupColumns,
  reason: Column.text,
  accounts: Column.texts,
  lastDetail: Column.nullable(Column.text),
})

const readObstructed: (row: Row) => ObstructedAccount = rowDecoder('obstructed account', {
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
