import type { Stage } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, type Statement, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

/** One transfer that waits for something other than its turn. */
export interface StuckTransfer {
  readonly id: string
  readonly accountId: string
  readonly gateway: string
  readonly stage: Stage
  readonly reason: string | null
  /** What it waits for, in words. */
  readonly waitsFor: string
  /** What a person can do about it. */
  readonly remedy: string
  /** ISO 8601, UTC. */
  readonly since: string
  readonly waitingMs: number
  readonly attempts: number
  readonly nextAttemptAt: string | null
}

const columns = `v.id, v.account_id, v.stage, v.reason, v.waits_for, v.remedy, {{schema}}.iso(v.since) as since,
    round(extract(epoch from v.waiting) * 1000)::float8 as waiting_ms, v.attempts, {{schema}}.iso(v.next_attempt_at) as next_attempt_at, v.gateway`

/** Selects stuck transfers, the longest first. */
const selectText = (where: string, most: string): string =>
  `select ${columns} from {{schema}}.stuck_transfers v ${where} order by v.since limit ${most}`

// A condition that may be absent would be compared with each transfer that waits, instead of being searched by an index.
const texts = {
  stuck_of_account: selectText(
    `where v.account_id = $2 and v.id = any (array(
      select t.id from {{schema}}.transfer t
      where t.account_id = $2 and (t.remote_id is null and t.status = 'pending' and t.stage <> 'held' or t.next_poll_at is not null and t.stage = 'submitted')
      union select r.transfer_id from {{schema}}.transfer_return r where r.problem is not null and r.resolved_at is null))`,
    '$1',
  ),
  stuck_one: selectText('where v.id = $1', '1'),
  stuck_among: selectText('where v.id = any ($2::text[])', '$1'),
  stuck_unsent: `select t.id from {{schema}}.transfer t
    where t.remote_id is null and t.status = 'pending' and t.stage <> 'held' and t.id > $1 order by t.id limit $2`,
  stuck_sent: `(select t.id from {{schema}}.transfer t where t.next_poll_at < now() - interval '1 minute' and t.stage = 'submitted'
      order by t.gateway, t.next_poll_at limit $1)
    union (select t.id from {{schema}}.transfer t where t.next_poll_at is not null and t.stage = 'submitted'
      and (t.reason = 'missing_at_service' or t.reason = any ({{schema}}.obstacles())) limit $1)
    union (select r.transfer_id from {{schema}}.transfer_return r where r.problem is not null and r.resolved_at is null limit $1)`,
} as const

/** Transfers that are judged at once: how many first, how many times more when too few of them are stuck, and how many at most. */
const window = { size: 500, growth: 4, most: 50_000 }

/** Which stuck transfers are read. */
export interface StuckFilter {
  readonly accountId?: string | undefined
  readonly id?: string | undefined
  readonly limit?: number
}

/** Makes the read of stuck transfers. */
export function createStuckRead<Tx>(driver: Driver<Tx>, { tokens }: DatabaseNames) {
  const sql = statements(tokens, texts)
  const readIds = async (text: Statement, values: readonly unknown[]) =>
    (await driver.query(text, values)).map((row) => readId(row).id)
  /** Judges those that were enqueued first, until there are enough: to judge a million takes half a minute. */
  const readLongest = async (limit: number): Promise<readonly StuckTransfer[]> => {
    const found: StuckTransfer[] = []
    let size = Math.max(window.size, limit)
    let ids = await readIds(sql.stuck_sent, [size])
    let place = ''
    for (;;) {
      const unsent = await readIds(sql.stuck_unsent, [place, size])
      ids = [...new Set([...ids, ...unsent])]
      found.push(...(await driver.query(sql.stuck_among, [limit, ids])).map(readStuck))
      const last = unsent.at(-1)
      if (found.length >= limit || unsent.length < size || last === undefined) break
      place = last
      ids = []
      size = Math.min(size * window.growth, window.most)
    }
    return found.sort((one, other) => other.waitingMs - one.waitingMs).slice(0, limit)
  }
  return {
    /** Transfers that wait for something other than their turn, the longest first; where there are many, the longest of those that were enqueued first. */
    async stuck({ accountId, id, limit = 50 }: StuckFilter = {}): Promise<readonly StuckTransfer[]> {
      if (id !== undefined) {
        const found = (await driver.query(sql.stuck_one, [id])).map(readStuck)
        return accountId === undefined ? found : found.filter((one) => one.accountId === accountId)
      }
      if (accountId !== undefined) return (await driver.query(sql.stuck_of_account, [limit, accountId])).map(readStuck)
      return await readLongest(limit)
    },
  }
}

const readId = rowDecoder('transfer', { id: Column.text })

/** Reads a row of it. */
const readStuck: (row: Row) => StuckTransfer = rowDecoder('stuck transfer', {
  id: Column.text,
  accountId: Column.text,
  gateway: Column.text,
  stage: Column.word<Stage>(),
  reason: Column.nullable(Column.text),
  waitsFor: Column.text,
  remedy: Column.text,
  since: Column.text,
  waitingMs: Column.number,
  attempts: Column.integer,
  nextAttemptAt: Column.nullable(Column.text),
})
