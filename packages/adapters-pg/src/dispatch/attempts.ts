import { Id } from '@outlay/core'
import {
  type Claim,
  Column,
  defaultGateway,
  rowDecoder,
  type Settlement,
  type WorkHandlers,
} from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { rowStateOf, withLockTimeout } from '../database/lock-timeout.ts'
import { readIds } from '../database/read-rows.ts'
import { statements, storableJson } from '../database/statement.ts'
import { withMetadata } from '../transfers/beside.ts'
import { writePaid } from '../transfers/paid-amounts.ts'
import { writeReturns } from '../transfers/returns.ts'
import { withTraceContext } from '../transfers/trace-contexts.ts'
import { readClaim } from '../transfers/transfer-row.ts'

const texts = {
  fetch: withMetadata('select * from {{schema}}.fetch_for_gateways($1, $2, $3, $4, $5::text[])'),
  // For a worker whose claim of what it would fetch fails: all are claimed separately.
  fetch_unclaimed: `select n.job, n.retry_count, null::text as id, f.turn
    from {{schema}}.queue_fetch($1, $2, $3::text[]) f cross join lateral unnest(f.jobs, f.retry_counts) as n (job, retry_count)`,
  touch: 'select {{schema}}.queue_extend($1::uuid[], $2::integer[])',
  // A statement of its own: it has to see what was touched.
  heartbeats: 'select id, age_ms from {{schema}}.queue_heartbeats($1::uuid[], $2::integer[])',
  claim: withMetadata(
    'select * from {{schema}}.claim_for_gateways($1::text[], $2::uuid[], $3::integer[], $4, $5, $6::text[])',
  ),
  settle: 'select id, attempt, result from {{schema}}.settle($1::jsonb, $2)',
  unsubmitted: `select t.id from {{schema}}.transfer t
    where t.remote_id is null and t.status = 'pending' and t.stage in ('queued', 'submitting', 'awaiting_funds') and t.id > $1 and t.updated_at < clock_timestamp() - interval '15 seconds'
    order by t.id limit $2`,
  // Only for those without one: an upsert would lock every job, and write for each lock. A scheduled transfer stays so. The
  // transaction that has locked a transfer may be about to give it a job. A worker that had the lost job of a claimed transfer may
  // send until its last heartbeat is too old.
  give_jobs: `with free as materialized (
      select t.id, n.job, greatest(t.not_before, case when t.stage = 'submitting'
        then clock_timestamp() + 2 * {{heartbeat_seconds}} * interval '1 second' end) as not_before from unnest($1::text[], $2::uuid[]) as n (id, job) join {{schema}}.transfer t on t.id = n.id
      where t.stage in ('queued', 'submitting', 'awaiting_funds') and not exists (
        select 1 from {{schema}}.queue_jobs() q where q.job = n.job and (q.is_waiting or q.is_active))
      order by t.id for no key update of t skip locked
    )
    select {{schema}}.queue_ensure(array_agg(f.job), array_agg(f.not_before), null) as count from free f`,
  make_due_ready_jobs: 'select {{schema}}.queue_make_due_ready() as count',
} as const

/** The gateways of handlers that name none. */
const onlyDefault = [defaultGateway]

/** Most waiting transfers that one statement makes ready. */
const dueAtOnce = 1_000

/** The rules by which outcomes are decided here; the functions refuse those of other code. */
const settlementRules = 2

/** The same claims with the trace context and the time of their enqueue. That time never changes, so any version of the row will do. */
const traced = (claims: string) =>
  withTraceContext(
    `select c.*, (select {{schema}}.iso(t.created_at) from {{schema}}.transfer t where t.id = c.id) as created_at from (${claims}) c`,
    'id',
  )

const tracedTexts = { ...texts, traced_fetch: traced(texts.fetch), traced_claim: traced(texts.claim) } as const

/** A job that this worker has; the count distinguishes a later fetch of the same job, by any worker. */
export interface FetchedJob {
  /** The id of the transfer, as a UUID. */
  readonly id: string
  readonly retryCount: number
  /** The claim of its transfer in the same transaction; undefined when the transfer has to be claimed separately. */
  readonly claim: Claim | undefined
}

/** What a claim is made with: the members of the same names of the handlers. */
type ClaimOptions = Pick<Partial<WorkHandlers<unknown>>, 'traced' | 'client' | 'gateways'>
/** What became of an outcome: it is written, a newer attempt has its transfer, another transaction has it locked, or there is none. */
export type SettleResult = 'settled' | 'stale' | 'locked' | 'gone'

/** What became of outcomes, by the transfer's id and the attempt with a space between. */
export type SettleResults = ReadonlyMap<string, SettleResult>

/** The store of attempts: what workers claim, and what became of it. */
export type AttemptStore = ReturnType<typeof createAttemptStore>

/** Gives a claim of a worker its name. */
type NameClaim = (worker: string) => string

/** Makes names of claims. No other claim has one of them, as long as no other process has the worker's name. */
function createClaimNames(): NameClaim {
  let number = 0
  return (worker) => {
    number += 1
    return `${worker}:${number}`
  }
}

/** Makes the fetch of a store, which knows what became of the last one. */
function createFetch<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>, nameClaim: NameClaim) {
  const sql = statements(tokens, tracedTexts)
  // Whose turn is next, as the last fetch said.
  let turn: string | null = null
  // Whether the last fetch failed for what may be one of its rows.
  let isRefused = false
  const fetchUnclaimed = (limit: number, gateways: readonly string[], onSent?: () => void) =>
    withLockTimeout(driver, (tx) => {
      onSent?.()
      return driver.execute(tx, sql.fetch_unclaimed, [limit, turn, gateways])
    })
  return async (
    limit: number,
    worker: string,
    { traced = false, client, gateways = onlyDefault }: ClaimOptions = {},
    onSent?: () => void,
  ): Promise<readonly FetchedJob[]> => {
    const claimedBy = nameClaim(worker)
    const statement = traced ? sql.traced_fetch : sql.fetch
    const values = [limit, claimedBy, client ?? null, turn, gateways]
    const isUnclaimed = isRefused
    isRefused = false
    const fetched = isUnclaimed ? fetchUnclaimed(limit, gateways, onSent) : driver.query(statement, values, onSent)
    const rows = await fetched.catch((error: unknown) => {
      isRefused = !isUnclaimed && rowStateOf(error) !== undefined
      throw error
    })
    turn = rows[0] === undefined ? turn : readTurn(rows[0]).turn
    return rows.map((row) => {
      const { job, retryCount, id } = readJob(row)
      return { id: job, retryCount, claim: id === null ? undefined : { ...readClaim(row), claimedBy } }
    })
  }
}

/** Makes the store of attempts on a driver. */
export function createAttemptStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, tracedTexts)
  const nameClaim = createClaimNames()
  return {
    /**
     * Claims up to `limit` due jobs, in the order of dispatch, and with them their transfers, for one attempt each. Locked
     * transfers, and those of limited or paused accounts, come without a claim. `traced` adds trace context and time of enqueue.
     * `onSent` is called when it has a connection: no heartbeat of these jobs is older than that. A host's trigger may refuse the claim of one,
     * and so the fetch; the next one then has no claims.
     */
    fetch: createFetch(driver, tokens, nameClaim),
    /**
     * Renews the heartbeat of these jobs. Skips a job that another worker has by now. Returns the age of the last heartbeat by the
     * id of the job, in milliseconds, for those that are still this worker's. `onSent` is called when the read of the ages has
     * a connection.
     */
    async touch(jobs: readonly FetchedJob[], onSent?: () => void): Promise<ReadonlyMap<string, number>> {
      const values = [jobs.map((job) => job.id), jobs.map((job) => job.retryCount)]
      await driver.query(sql.touch, values)
      const rows = await driver.query(sql.heartbeats, values, onSent)
      return new Map(rows.map(readHeartbeat).map(({ id, ageMs }) => [id, ageMs]))
    },
    /**
     * Claims the transfers of those of these jobs that are still this worker's, where they may be submitted, one attempt each.
     * `traced` adds trace context and time of enqueue.
     */
    async claim(
      jobs: readonly FetchedJob[],
      worker: string,
      { traced = false, client, gateways = onlyDefault }: ClaimOptions = {},
    ): Promise<readonly Claim[]> {
      const statement = traced ? sql.traced_claim : sql.claim
      const ids = jobs.map((job) => job.id)
      const claimedBy = nameClaim(worker)
      const values = [ids.map(Id.fromUuid), ids, jobs.map((job) => job.retryCount), claimedBy, client ?? null, gateways]
      return (await driver.query(statement, values)).map((row) => ({ ...readClaim(row), claimedBy }))
    },
    /** Makes waiting transfers ready whose time has come; returns true when there may be more of them. */
    makeDueReady: async (): Promise<boolean> =>
      readChanged((await driver.query(sql.make_due_ready_jobs, []))[0] ?? {}).count === dueAtOnce,
    /** Writes outcomes of attempts, except those of locked transfers; returns what became of each. */
    async settle(settlements: readonly Settlement[]): Promise<SettleResults> {
      const written = settlements.map(writeSettlement)
      const rows = await driver.query(sql.settle, [storableJson(written), settlementRules])
      return new Map(rows.map(readResult).map(({ id, attempt, result }) => [`${id} ${attempt}`, result]))
    },
    /** Transfers that have not been submitted and did not change recently, in the order of their ids. */
    unsubmittedAfter: async (id: string, limit: number): Promise<readonly string[]> =>
      readIds(await driver.query(sql.unsubmitted, [id, limit])),
    /** Gives a job to each of these transfers that has none; returns how many had none. */
    ensureJobs: async (ids: readonly string[]): Promise<number> =>
      readChanged((await driver.query(sql.give_jobs, [ids, ids.map(Id.toUuid)]))[0] ?? {}).count,
  }
}

const readJob = rowDecoder('job', {
  job: Column.text,
  retryCount: Column.integer,
  id: Column.nullable(Column.text),
})

const readTurn = rowDecoder('fetch', { turn: Column.text })

const readChanged = rowDecoder('sweep', { count: Column.integer })

const readHeartbeat = rowDecoder('heartbeat', { id: Column.text, ageMs: Column.number })

const readResult = rowDecoder('settlement', {
  id: Column.text,
  attempt: Column.integer,
  result: Column.word<SettleResult>(),
})

/** What is left out of the JSON, where Postgres reads the same null: most members of most settlements, each of which would cost it time. */
const orLeftOut = <T>(value: T | null | undefined): T | undefined => value ?? undefined

function writeSettlement(settlement: Settlement) {
  return {
    id: settlement.transferId,
    job: Id.toUuid(settlement.transferId),
    attempt: settlement.attempt,
    worker: settlement.claimedBy,
    stage: settlement.stage,
    status: settlement.status,
    failure: orLeftOut(settlement.failure),
    remote_id: orLeftOut(settlement.remoteId),
    // Left out of nearly all settlements: what is undefined does not get into the JSON.
    address_id: settlement.addressId,
    forget: settlement.forgetCounterparty,
    registration_unknown_since: settlement.registrationUnknownSince,
    return_window_ms: settlement.returnWindowMs,
    // An empty list withdraws nothing of a transfer that has just been accepted.
    ...(settlement.returns?.length
      ? { returns: writeReturns(settlement.returns), changed_at: settlement.returnsChangedAt }
      : {}),
    ...(settlement.paid === undefined ? {} : { paid: writePaid(settlement.paid) }),
    reason: orLeftOut(settlement.reason),
    unknown_since: orLeftOut(settlement.unknownSince),
    claimed_at: settlement.unknownSince === null ? undefined : settlement.claimedAt,
    reached_at: orLeftOut(settlement.reachedAt),
    credentials: orLeftOut(settlement.credentials),
    refusals: settlement.credentialRefusals,
    own_refusals: settlement.ownRefusals,
    retry_ms: settlement.retryAfterMs === null ? undefined : Math.round(settlement.retryAfterMs),
    poll_after_ms: settlement.pollAfterMs === null ? undefined : Math.round(settlement.pollAfterMs),
    events: settlement.events.map((event) => event.type),
    outcome: settlement.answer.outcome,
    detail: orLeftOut(settlement.answer.detail),
    http_status: orLeftOut(settlement.answer.httpStatus),
    request_id: orLeftOut(settlement.answer.requestId),
  }
}
