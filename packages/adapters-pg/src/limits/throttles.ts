import type { AccountPause, AccountState } from '@outlay/core'
import { Column, rowDecoder, type Throttle } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { isLockTimeout, withLockTimeout } from '../database/lock-timeout.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'

const lowered = `select p.account_id, p.rate, {{schema}}.iso(p.throttled_until) as throttled_until, {{schema}}.iso(p.changed_at) as changed_at,
    {{schema}}.iso(p.waited_at) as waited_at, p.version, {{schema}}.iso(clock_timestamp()) as now`

const texts = {
  account_state: `select coalesce(f.paused, false) as paused,
      case when f.paused then jsonb_build_object('since', {{schema}}.iso(f.paused_since), 'actor', f.paused_by, 'reason', f.pause_reason) end as pause, f.rate_per_second, f.concurrency, f.weight, p.rate,
      {{schema}}.iso(case when p.throttled_until > clock_timestamp() then p.throttled_until end) as throttled_until
    from (select $1::text as account_id) a
    left join {{schema}}.account f on f.account_id = {{schema}}.account_of(a.account_id)
    left join {{schema}}.account_throttle p on p.account_id = a.account_id`,
  throttle: `${lowered} from (select $1::text as account_id) a left join {{schema}}.account_throttle p on p.account_id = a.account_id`,
  throttled_accounts: `${lowered} from {{schema}}.account_throttle p where p.rate is not null`,
  // Of the many attempts only those of the last second are read, by the index on their time.
  submitted_lately: `with lately as materialized (
      select a.transfer_id from {{schema}}.attempt a where a.claimed_at > now() - interval '1 second'
    )
    select count(*)::integer as count from lately l join {{schema}}.transfer t on t.id = l.transfer_id
    where t.account_id = {{schema}}.account_of($1) and t.gateway = {{schema}}.gateway_of($1)`,
  write_throttle: `insert into {{schema}}.account_throttle as p (account_id, rate, throttled_until, changed_at, version)
    values ($1, ($2::jsonb ->> 'rate')::double precision, ($2::jsonb ->> 'throttled_until')::timestamptz, ($2::jsonb ->> 'changed_at')::timestamptz, 1)
    on conflict (account_id) do update
    set rate = excluded.rate, throttled_until = excluded.throttled_until, changed_at = excluded.changed_at, version = p.version + 1
    where p.version = $3 returning p.version`,
  delete_unused_throttles: `with unused as (
      select p.account_id from {{schema}}.account_throttle p where p.rate is null and not p.waiting and not exists (
        select 1 from {{schema}}.account f
        where f.account_id = {{schema}}.account_of(p.account_id) and (f.rate_per_second is not null or f.concurrency is not null))
      for update skip locked
    )
    delete from {{schema}}.account_throttle p using unused u where p.account_id = u.account_id`,
  // This locks the transfer, since a claim of it might find the slot in place just now.
  forget_slots: `with unused as (
      select t.id from {{schema}}.submission_slot s join {{schema}}.transfer t on t.id = s.transfer_id
      where t.stage <> 'submitting' order by t.id for no key update of t skip locked
    )
    delete from {{schema}}.submission_slot s using unused u where s.transfer_id = u.id`,
  release_waiting: 'select account_id, released, bounded, waits from {{schema}}.release_waiting($1, $2, $3)',
} as const

/** An account's throttle as it was read, with what a change of it needs. */
export interface StoredThrottle {
  readonly accountId: string
  /** Null when the account is not throttled. */
  readonly throttle: Throttle | null
  /** A write names the version that was read, so that of two changes one is decided again. */
  readonly version: number
  /** When a transfer last had to wait, ISO 8601; null for never. */
  readonly waitedAt: string | null
  /** The database's clock: all workers have the same. */
  readonly now: Date
}

/** An account with waiting transfers. */
export interface WaitingAccount {
  readonly accountId: string
  /** How many were released just now. */
  readonly released: number
  /** True when the end of a submission frees a permit. */
  readonly bounded: boolean
  /** False when none is left. */
  readonly waits: boolean
}

/** The store of throttles: how fast accounts may send, and which transfers wait for that. */
export type ThrottleStore = ReturnType<typeof createThrottleStore>

/** Most transfers of one account that are released at once. */
export const maxReleased = 200

/** Accounts whose throttles one statement locks. */
const accountsAtOnce = 20

/** Makes the store of throttles on a driver. */
export function createThrottleStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    async getAccount(accountId: string): Promise<AccountState> {
      const [row = {}] = await driver.query(sql.account_state, [accountId])
      return { accountId, ...readState(row) }
    },
    async read(accountId: string): Promise<StoredThrottle> {
      const [row = {}] = await driver.query(sql.throttle, [accountId])
      return { accountId, ...readThrottle(row) }
    },
    /** Every account that is throttled. */
    async readThrottled(): Promise<readonly StoredThrottle[]> {
      return (await driver.query(sql.throttled_accounts, [])).map((row) => ({
        ...readOwner(row),
        ...readThrottle(row),
      }))
    },
    /** How many submissions of the account began in the last second, over all workers. */
    async submittedLately(accountId: string): Promise<number> {
      return readFirst(readCount, await driver.query(sql.submitted_lately, [accountId]))?.count ?? 0
    },
    /** Replaces a throttle that was read. False when another worker has written in between, or has it locked. */
    async write({ accountId, version }: StoredThrottle, next: Throttle | null): Promise<boolean> {
      const values = { rate: next?.ratePerSecond, throttled_until: next?.throttledUntil, changed_at: next?.changedAt }
      const write = (tx: Tx) => driver.execute(tx, sql.write_throttle, [accountId, JSON.stringify(values), version])
      const written = await withLockTimeout(driver, write).catch((error: unknown) => {
        if (isLockTimeout(error)) return []
        throw error
      })
      return written.length > 0
    },
    /** Releases transfers that may be sent now; returns the accounts with more that wait. */
    async release(): Promise<readonly WaitingAccount[]> {
      const waiting: WaitingAccount[] = []
      for (let after: string | undefined = ''; after !== undefined; ) {
        const rows: readonly Row[] = await driver.query(sql.release_waiting, [maxReleased, accountsAtOnce, after])
        const accounts = rows.map(readWaiting)
        waiting.push(...accounts.filter(({ waits }) => waits))
        after = accounts.length < accountsAtOnce ? undefined : accounts.at(-1)?.accountId
      }
      return waiting
    },
    /** Deletes rows of accounts that are no longer limited or throttled, and slots of transfers that are not under way. */
    async forget(): Promise<void> {
      await driver.query(sql.forget_slots, [])
      await driver.query(sql.delete_unused_throttles, [])
    },
  }
}

const readState = rowDecoder('account', {
  paused: Column.boolean,
  pause: Column.nullable(Column.json<AccountPause>()),
  ratePerSecond: Column.nullable(Column.anyNumber),
  concurrency: Column.nullable(Column.anyNumber),
  weight: Column.or(Column.anyNumber, 1),
  throttledRatePerSecond: Column.from('rate', Column.nullable(Column.anyNumber)),
  throttledUntil: Column.nullable(Column.text),
})

const readOwner = rowDecoder('throttle', { accountId: Column.text })
const readCount = rowDecoder('submissions', { count: Column.anyNumber })

const readWaiting: (row: Row) => WaitingAccount = rowDecoder('waiting account', {
  accountId: Column.text,
  released: Column.integer,
  bounded: Column.or(Column.boolean, false),
  waits: Column.boolean,
})

const readStored = rowDecoder('throttle', {
  rate: Column.nullable(Column.anyNumber),
  version: Column.or(Column.anyNumber, 0),
  waitedAt: Column.nullable(Column.text),
  now: Column.text,
})

// An account that is not throttled may have no times.
const readTimes = rowDecoder('throttle', { throttledUntil: Column.text, changedAt: Column.text })

function readThrottle(row: Row): Omit<StoredThrottle, 'accountId'> {
  const { rate, version, waitedAt, now } = readStored(row)
  const throttle = rate === null ? null : { ratePerSecond: rate, ...readTimes(row) }
  return { throttle, version, waitedAt, now: new Date(now) }
}
