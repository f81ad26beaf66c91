import type { SendingState } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, type Statement, statements } from '../database/statement.ts'
import type { UnattendedGateway } from '../dispatch/gateways.ts'
import { jobTableText } from '../queue/queue.ts'
import type { DatabaseNames } from '../schema/database-names.ts'
import { type AccountBacklog, createBacklogReads, type SubscriptionLag } from './account-backlog.ts'
import { type Group, groupText as group, groupColumns, intervalMs as ms, readGroup } from './group.ts'
import { createMoneyReads } from './money-health.ts'
import { type DeferredTransfers, type ObstructedAccount, readWaitingHealth } from './waiting-health.ts'
import { workerOf } from './worker-name.ts'

export type { Group } from './group.ts'

/** A session, or something like one, that keeps old row versions from being cleaned up. */
export interface SnapshotHolder {
  readonly kind: 'session' | 'prepared transaction' | 'replication slot'
  /** Process id, transaction id or slot name. */
  readonly name: string
  /** Its application, user and state. */
  readonly detail: string
  /** Milliseconds; null when the server does not report since when. */
  readonly ageMs: number | null
  /** Transactions that began since. */
  readonly transactions: number
}

/** An account whose credentials the service refuses; its transfers wait while one at a time probes. */
export interface RefusedAccount {
  readonly accountId: string
  /** Milliseconds since the first refusal. */
  readonly refusedMs: number
  readonly refusals: number
}

/** A watched account whose list is not read. */
export interface UnreadWatch {
  readonly accountId: string
  /** Readings in a row that failed. */
  readonly failures: number
  /** Milliseconds since its list is due to be read; 0 when it is not due. */
  readonly overdueMs: number
}

/** How well a table is kept. */
export interface TableUpkeep {
  readonly table: string
  readonly liveRows: number
  readonly deadRows: number
  /** Milliseconds since it was cleaned up; null when it never was. */
  readonly vacuumedMs: number | null
  readonly autovacuum: boolean
}

/** The health of an engine's database, as numbers for the reader to judge. */
export interface HealthFacts {
  readonly server: {
    readonly version: string
    /** The server's clock less this machine's, in milliseconds. */
    readonly clockSkewMs: number
    /** How exact that is: half of the time that the query took, in milliseconds. */
    readonly clockErrorMs: number
    readonly autovacuum: boolean
    readonly readOnly: boolean
  }
  readonly workers: {
    /** Milliseconds since a running engine supervised the queue, which it does every five seconds; null when none ever did. */
    readonly supervisedMs: number | null
    /** Milliseconds since a worker claimed a transfer, within the last hour; null when none did. */
    readonly claimedMs: number | null
    /** Names of the workers that claimed a transfer within the last five minutes. */
    readonly names: readonly string[]
    /** Sessions that listen for wake-ups. */
    readonly listening: number
  }
  readonly jobs: {
    /** Transfers that wait to be submitted and whose job is missing or ended. */
    readonly missing: Group
    /** Jobs whose transfer does not exist. */
    readonly stray: Group
    /** Jobs of a worker that has sent no heartbeat for 30 seconds. */
    readonly silent: Group
    /** Jobs that are due and that no worker has claimed. */
    readonly due: Group
  }
  readonly transfers: {
    readonly unknown: Group
    readonly blocked: readonly (Group & { readonly reason: string })[]
    /** Transfers that ended without an id at the service, which accepted them afterwards: their money moved. */
    readonly acceptedLate: Group & { readonly lastDetail: string | null }
    /** Transfers that ended here behind a fence, and that the service may have: a person has to decide. */
    readonly endedInDoubt: Group & { readonly lastDetail: string | null }
    /** Transfers that the service accepted under another id than theirs: it has two, or one of the ids is wrong. */
    readonly acceptedTwice: Group & { readonly lastDetail: string | null }
    /** Complete transfers of which the service says that money came back, in contradiction to them: a person has to decide. */
    readonly heldReturns: Group
    /** Transfers of which another amount was paid than was asked for, seen in the last seven days. */
    readonly paidOtherwise: Group
    /** Those of them of which more came back than was paid, as the service corrected it. */
    readonly returnedBeyond: Group
    /** Refused transfers that another gateway was to take over and did not, in the last seven days, and that were not resubmitted. */
    readonly failoverEnded: Group
    readonly awaitingFunds: Group
    /** Transfers that people have to approve or release, since when the first of what holds them does. */
    readonly held: Group
    /** Transfers that may be sent and are deferred again and again, by why; since when they could have been sent. */
    readonly deferred: readonly DeferredTransfers[]
    /** Submitted transfers that the service does not know any more. */
    readonly missing: Group
    /** Submitted transfers whose poll is overdue. */
    readonly overduePolls: Group
    /** Submitted transfers, by when they were enqueued. */
    readonly submitted: Group
  }
  /** Entries of the audit that are not in its chain, by their ids. */
  readonly unchained: Group
  /** Whether anything may be sent from here, as far as the database knows: it does not know how a process is configured. */
  readonly sending: SendingState
  /** Transfers that do not get through to the service, by account and client; at most 100 of each reason. */
  readonly obstructed: readonly ObstructedAccount[]
  /** Gateways of unsettled transfers that no running worker has. */
  readonly unattendedGateways: readonly UnattendedGateway[]
  /** Accounts whose credentials the service refuses, the longest first; at most 100. */
  readonly refusedAccounts: readonly RefusedAccount[]
  readonly pausedAccounts: readonly AccountBacklog[]
  readonly subscriptions: readonly SubscriptionLag[]
  /** Deliveries for subscriptions that are gone. */
  readonly orphanDeliveries: number
  /** Transfers of others on watched accounts that cannot be adopted as they were found, by their ids at the service. */
  readonly unadopted: Group & { readonly problem: string | null }
  /** Watched accounts whose last reading failed, or that are due to be read; those that failed most first, at most 100. */
  readonly unreadWatches: readonly UnreadWatch[]
  readonly snapshots: readonly SnapshotHolder[]
  readonly tables: readonly TableUpkeep[]
}

const texts = {
  health_server: `select current_setting('server_version') as version, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms,
    current_setting('autovacuum')::boolean as autovacuum, pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as read_only`,
  health_sending: 'select {{schema}}.sending_state() as state',
  health_supervised: `select ${ms('clock_timestamp() - {{schema}}.queue_supervised_at()')} as supervised_ms`,
  health_claims: `select ${ms('clock_timestamp() - max(a.claimed_at)')} as claimed_ms,
      coalesce(array_agg(distinct ${workerOf}) filter (where a.claimed_at > statement_timestamp() - interval '5 minutes'), '{}') as names
    from {{schema}}.attempt a where a.claimed_at > statement_timestamp() - interval '1 hour'`,
  health_listening: `select count(*)::integer as count from pg_stat_activity s
    where s.datname = current_database() and s.query = 'listen "{{channel}}"'`,
  // The index has these alone, and most transfers have got that id since.
  health_accepted_late: `select ${group}, (array_agg(g.detail order by g.at, g.id))[1] as last_detail from (
      select t.id, a.answered_at as at, a.detail from {{schema}}.attempt a join {{schema}}.transfer t on t.id = a.transfer_id
      where a.unmatched and a.remote_id is not null and t.stage = 'settled' and t.remote_id is null
    ) g`,
  health_ended_in_doubt: `select ${group}, (array_agg(g.detail order by g.at, g.id))[1] as last_detail from (
      select t.id, a.answered_at as at, a.detail from {{schema}}.attempt a join {{schema}}.transfer t on t.id = a.transfer_id
      where a.unmatched and a.remote_id is null and {{schema}}.ended_in_doubt(t)
    ) g`,
  health_accepted_twice: `select ${group}, (array_agg(g.detail order by g.at, g.id))[1] as last_detail from (
      select t.id, a.answered_at as at, a.detail from {{schema}}.attempt a join {{schema}}.transfer t on t.id = a.transfer_id
      where a.unmatched and t.remote_id is not null and {{schema}}.effect_of(t) = 'conflicting'
    ) g`,
  // What is behind the end of the chain. A comparison finds the others.
  health_unchained: `select ${group} from (
      select a.id::text as id, a.at from {{schema}}.audit a left join {{schema}}.audit_chain_end e on true
      where (e.settled_before is null or a.transaction >= e.settled_before) and not exists (select from {{schema}}.audit_chain c where c.audit_id = a.id)
    ) g`,
  health_credentials: `select r.account_id, ${ms('clock_timestamp() - r.since')} as refused_ms, r.refusals
    from {{schema}}.unauthorized_account r order by r.since limit 100`,
  health_unadopted: `select ${group}, min(g.problem) as problem from (
      select f.remote_id as id, f.seen_at as at, f.problem from {{schema}}.found_transfer f where f.problem is not null
    ) g`,
  health_unread: `select w.account_id, greatest(0, -w.idle) as failures,
      greatest(0, ${ms('clock_timestamp() - w.next_poll_at')}) as overdue_ms
    from {{schema}}.watched_account w where w.idle < 0 or w.next_poll_at < statement_timestamp()
    order by w.idle, w.next_poll_at limit 100`,
  health_orphans: `select count(*)::integer as count from {{schema}}.delivery d
    where not exists (select 1 from {{schema}}.subscription s where s.name = d.subscription)`,
  health_snapshots: `select 'session' as kind, s.pid::text as name,
      concat_ws(', ', nullif(s.application_name, ''), s.usename, s.state) as detail,
      ${ms('clock_timestamp() - coalesce(s.xact_start, s.query_start)')} as age_ms, greatest(age(s.backend_xmin), age(s.backend_xid))::float8 as transactions
    from pg_stat_activity s
    where (s.backend_xmin is not null or s.backend_xid is not null) and s.pid <> pg_backend_pid() and s.backend_type <> 'walsender'
      and s.datname = current_database()
    union all
    select 'prepared transaction', p.gid, p.owner, ${ms('clock_timestamp() - p.prepared')}, age(p.transaction)::float8
    from pg_prepared_xacts p where p.database = current_database()
    union all
    select 'replication slot', r.slot_name, case when r.active then 'active' else 'inactive' end, null,
      greatest(age(r.xmin), age(r.catalog_xmin))::float8
    from pg_replication_slots r where r.xmin is not null
    order by age_ms desc nulls last limit 20`,
  health_tables: `select c.oid::regclass::text as table, s.n_live_tup::float8 as live, s.n_dead_tup::float8 as dead,
      ${ms('clock_timestamp() - greatest(s.last_autovacuum, s.last_vacuum)')} as vacuumed_ms,
      not coalesce(c.reloptions, '{}') @> array['autovacuum_enabled=false'] as autovacuum
    from pg_class c join pg_stat_user_tables s on s.relid = c.oid
    where c.oid = any (array['{{schema}}.transfer', '{{schema}}.delivery', '{{schema}}.attempt', '{{schema}}.event', '{{schema}}.outbox', ${jobTableText}]::regclass[])
    order by 1`,
} as const

type Sql = { readonly [K in keyof typeof texts]: Statement }

/** Reads the health of an engine's database. Every read is of live rows or of the last hour, or of the catalogs. */
export async function readHealth<Tx>(driver: Driver<Tx>, databaseNames: DatabaseNames): Promise<HealthFacts> {
  const sql = statements({ ...databaseNames.tokens, channel: databaseNames.channel }, texts)
  const rows = (name: keyof typeof texts) => driver.query(sql[name], [])
  const one = async (name: keyof typeof texts): Promise<Row> => (await rows(name))[0] ?? {}
  const { accounts, subscriptions } = createBacklogReads(driver, databaseNames)
  const server = await readServer(driver, sql)
  const waiting = await readWaitingHealth(driver, databaseNames)
  return {
    server,
    workers: {
      supervisedMs: readFirst(readSupervised, await rows('health_supervised'))?.supervisedMs ?? null,
      ...readClaims(await one('health_claims')),
      listening: readCount(await one('health_listening')).count,
    },
    jobs: waiting.jobs,
    transfers: {
      ...waiting.transfers,
      acceptedLate: readLate(await one('health_accepted_late')),
      endedInDoubt: readLate(await one('health_ended_in_doubt')),
      acceptedTwice: readLate(await one('health_accepted_twice')),
      ...(await createMoneyReads(driver, databaseNames).all()),
    },
    unchained: readGroup(await one('health_unchained')),
    sending: readSending(await one('health_sending')).state,
    obstructed: waiting.obstructed,
    unattendedGateways: waiting.unattendedGateways,
    refusedAccounts: (await rows('health_credentials')).map(readRefused),
    pausedAccounts: await accounts({ paused: true }),
    subscriptions: await subscriptions(),
    orphanDeliveries: readCount(await one('health_orphans')).count,
    unadopted: readUnadopted(await one('health_unadopted')),
    unreadWatches: (await rows('health_unread')).map(readUnread),
    snapshots: (await rows('health_snapshots')).map(readHolder),
    tables: (await rows('health_tables')).map(readUpkeep),
  }
}

async function readServer<Tx>(driver: Driver<Tx>, sql: Sql): Promise<HealthFacts['server']> {
  // The first query may open a connection, which takes longer than the query.
  await driver.query(sql.health_server, [])
  const asked = Date.now()
  const [row = {}] = await driver.query(sql.health_server, [])
  const half = (Date.now() - asked) / 2
  const { version, nowMs, autovacuum, readOnly } = readServerRow(row)
  const clockSkewMs = Math.round(nowMs - (asked + half))
  return { version, clockSkewMs, clockErrorMs: Math.ceil(half), autovacuum, readOnly }
}

const readServerRow = rowDecoder('server', {
  version: Column.text,
  nowMs: Column.number,
  autovacuum: Column.boolean,
  readOnly: Column.boolean,
})

const readSupervised = rowDecoder('queue', { supervisedMs: Column.nullable(Column.number) })
const readClaims = rowDecoder('claims', { claimedMs: Column.nullable(Column.number), names: Column.texts })
const readCount = rowDecoder('count', { count: Column.integer })
const readSending = rowDecoder('sending', { state: Column.json<SendingState>() })

const readLate = rowDecoder('late answers', { ...groupColumns, lastDetail: Column.nullable(Column.text) })
const readUnadopted = rowDecoder('unadopted transfers', { ...groupColumns, problem: Column.nullable(Column.text) })

const readRefused: (row: Row) => RefusedAccount = rowDecoder('refused account', {
  accountId: Column.text,
  refusedMs: Column.number,
  refusals: Column.integer,
})

const readUnread: (row: Row) => UnreadWatch = rowDecoder('watched account', {
  accountId: Column.text,
  failures: Column.integer,
  overdueMs: Column.number,
})

const readHolder: (row: Row) => SnapshotHolder = rowDecoder('snapshot', {
  kind: Column.word<SnapshotHolder['kind']>(),
  name: Column.text,
  detail: Column.text,
  ageMs: Column.nullable(Column.number),
  transactions: Column.or(Column.number, 0),
})

const readUpkeep: (row: Row) => TableUpkeep = rowDecoder('table', {
  table: Column.text,
  liveRows: Column.from('live', Column.number),
  deadRows: Column.from('dead', Column.number),
  vacuumedMs: Column.nullable(Column.number),
  autovacuum: Column.boolean,
})
