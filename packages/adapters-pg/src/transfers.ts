import type { DecideChange, Observation, Stage, StoredTransfer, TransferFailure, TransferStatus } from '@outlay/core'
import { Id } from '@outlay/core'
import type { Driver } from './driver.ts'
import { ensureJobsText } from './queue.ts'
import { type Row, statements, storableJson } from './statement.ts'
import { readOne, transferColumns } from './transfer-row.ts'

const texts = {
  get: `select ${transferColumns} from {{schema}}.transfer t where t.id = $1`,
  get_by_key: `select ${transferColumns} from {{schema}}.transfer t where t.account_id = $1 and t.idempotency_key = $2`,
  lock_remote: `select t.id, t.remote_id, t.stage, t.status, t.failure from {{schema}}.transfer t
    where t.remote_id = any ($2::text[]) and t.account_id = $1 order by t.id for update`,
  // The order keeps two observers from waiting for each other.
  note_sightings: `insert into {{schema}}.sighting (account_id, remote_id)
    select $1, u.remote_id from unnest($2::text[]) as u (remote_id) order by 2 on conflict do nothing`,
  apply_changes: 'select {{schema}}.apply_changes($1::jsonb) as count',
  funds_arrived: `with mark as (
      insert into {{schema}}.account (account_id, funds_arrived_at) values ($1, clock_timestamp())
      on conflict (account_id) do update set funds_arrived_at = excluded.funds_arrived_at
    )
    select t.id from {{schema}}.transfer t where t.account_id = $1 and t.stage = 'awaiting_funds' order by t.id for update`,
  // A refusal for lack of funds was written while the arrival had not committed yet, so neither of the two saw the other.
  funds_missed: `select t.id from {{schema}}.account f
    join {{schema}}.transfer t on t.account_id = f.account_id and t.stage = 'awaiting_funds'
    join {{schema}}.attempt a on a.transfer_id = t.id and a.attempt = t.attempt
    where f.funds_arrived_at > greatest(a.claimed_at, clock_timestamp() - interval '1 hour')
    order by t.id limit 5000 for update of t skip locked`,
  lock_waiting: `select t.id from {{schema}}.transfer t
    where t.id = $1 and t.stage in ('blocked', 'awaiting_funds', 'queued') for update`,
  // An outcome that is unknown stays so: a release starts the time over that is spent on finding out, and no more.
  requeue: `with changed as (
      update {{schema}}.transfer t
      set stage = 'queued', reason = null, unknown_since = case when t.unknown_since is not null then clock_timestamp() end,
          event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
      where t.id = any ($1::text[]) returning t.id, t.event_sequence
    ), doubtless as (
      update {{schema}}.counterparty_details d set unknown_since = null
      where d.transfer_id = any ($1::text[]) and d.unknown_since is not null
    )
    select {{schema}}.record_events(array_agg(c.id), array_agg(c.event_sequence),
      array_agg('transfer.released'::text))::text from changed c having count(*) > 0`,
  wake_jobs: `update {{queue_table}} j set start_after = clock_timestamp()
    where j.name = '{{queue}}' and j.id = any ($1::uuid[]) and j.state < 'active'`,
  ensure_jobs: ensureJobsText,
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

/** The store of transfers. */
export type TransferStore<Tx> = ReturnType<typeof createTransferStore<Tx>>

/** Makes the store of transfers on a driver. */
export function createTransferStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  const requeue = async (tx: Tx, rows: readonly Row[]): Promise<number> => {
    const ids = rows.map((row) => row['id'] as string)
    if (ids.length === 0) return 0
    await driver.execute(tx, sql.requeue, [ids])
    await driver.execute(tx, sql.wake_jobs, [ids.map(Id.toUuid)])
    await driver.execute(tx, sql.ensure_jobs, [ids.map(Id.toUuid)])
    await driver.execute(tx, sql.notify, [])
    return ids.length
  }
  return {
    async get(id: string, tx?: Tx): Promise<StoredTransfer | undefined> {
      return readOne(await (tx === undefined ? driver.query(sql.get, [id]) : driver.execute(tx, sql.get, [id])))
    },
    async getByKey(accountId: string, key: string): Promise<StoredTransfer | undefined> {
      return readOne(await driver.query(sql.get_by_key, [accountId, key]))
    },
    async observe(tx: Tx, accountId: string, observations: readonly Observation[], decide: DecideChange) {
      if (observations.length === 0) return 0
      const rows = await driver.execute(tx, sql.lock_remote, [accountId, observations.map((seen) => seen.remoteId)])
      const early = findEarly(rows, observations, decide)
      if (early.size > 0) await driver.execute(tx, sql.note_sightings, [accountId, [...early]])
      const changes = decideChanges(rows, observations, decide)
      if (changes.length === 0) return 0
      const [result] = await driver.execute(tx, sql.apply_changes, [storableJson(changes)])
      return Number(result?.['count'] ?? 0)
    },
    async fundsArrived(tx: Tx, accountId: string) {
      return requeue(tx, await driver.execute(tx, sql.funds_arrived, [accountId]))
    },
    /** Sends transfers out again that were claimed before funds arrived and refused as that was committed. */
    async releaseMissed(): Promise<number> {
      return driver.transaction(async (tx) => requeue(tx, await driver.execute(tx, sql.funds_missed, [])))
    },
    async release(tx: Tx, id: string) {
      return (await requeue(tx, await driver.execute(tx, sql.lock_waiting, [id]))) > 0
    },
  }
}

/** Remote ids that no transfer has yet, of observations that would be news for a transfer that was just submitted. */
function findEarly(rows: readonly Row[], observations: readonly Observation[], decide: DecideChange): Set<string> {
  const known = new Set(rows.map((row) => row['remote_id']))
  const submitted = { stage: 'submitted', status: 'pending', failure: null } as const
  const early = observations.filter((seen) => !known.has(seen.remoteId) && decide(submitted, seen) !== undefined)
  return new Set(early.map((seen) => seen.remoteId))
}

function decideChanges(rows: readonly Row[], observations: readonly Observation[], decide: DecideChange) {
  const seen = new Map<string, Observation[]>()
  for (const observation of observations) {
    const list = seen.get(observation.remoteId) ?? []
    seen.set(observation.remoteId, [...list, observation])
  }
  return rows.flatMap((row) => {
    let current = {
      stage: row['stage'] as Stage,
      status: row['status'] as TransferStatus,
      failure: (row['failure'] ?? null) as TransferFailure | null,
    }
    const events: string[] = []
    for (const observation of seen.get(row['remote_id'] as string) ?? []) {
      const change = decide(current, observation)
      if (change === undefined) continue
      current = { stage: change.stage, status: change.status, failure: change.failure }
      events.push(...change.events.map((event) => event.type))
    }
    return events.length === 0 ? [] : [{ id: row['id'], ...current, events }]
  })
}
