import { setTimeout as delay } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver, SqlSession } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'
import { moveAborted } from './account-move-check.ts'
import type { MovePlaces } from './account-move-places.ts'
import { askPatiently } from './account-move-question.ts'
import { nodeError } from './node-reachability.ts'

const columns = `m.id::text as id, m.account_id, m.from_node, m.to_node, m.state, m.actor, m.reason, m.transfers::integer as transfers,
  (extract(epoch from m.resumed_at - m.paused_at) * 1000)::double precision as pause_ms,
  (extract(epoch from m.ended_at - m.began_at) * 1000)::double precision as total_ms`

const texts = {
  move_lock: `select pg_try_advisory_xact_lock(hashtextextended('outlay account move ' || $1, 0)) as is_mine`,
  move_begin: `with route as (
      select a.account_id, a.node from {{schema}}.account a where a.account_id = $1 for update
    ), begun as (
      insert into {{schema}}.account_move (account_id, from_node, to_node, actor, reason)
      select r.account_id, r.node, $2, $3, $4 from route r where r.node <> $2 on conflict (account_id) where ended_at is null do nothing
      returning id
    )
    select r.node, (select b.id from begun b) is not null as is_begun from route r`,
  move_accounts: `select a.account_id, a.node, m.id is not null as is_moving from {{schema}}.account a
    left join {{schema}}.account_move m on m.account_id = a.account_id and m.ended_at is null
    where a.account_id > $1 order by a.account_id limit $2`,
  move_accounts_of: `select a.account_id, a.node, m.id is not null as is_moving from {{schema}}.account a
    left join {{schema}}.account_move m on m.account_id = a.account_id and m.ended_at is null
    where a.account_id = any ($1) order by a.account_id`,
  move_open: `select ${columns} from {{schema}}.account_move m where m.account_id = $1 and m.ended_at is null`,
  move_read: `select ${columns} from {{schema}}.account_move m where m.id = $1::bigint`,
  move_pause: `update {{schema}}.account_move set paused_at = coalesce(paused_at, clock_timestamp()) where id = $1::bigint and state = 'leaving' returning id::text as id`,
  // The one decision of a move: until it commits the account is at the node that it leaves, and from then on at the other one.
  move_switch: `with switched as (
      update {{schema}}.account_move m set state = 'switched', switched_at = clock_timestamp(), transfers = $2
      where m.id = $1::bigint and m.state = 'leaving' returning m.account_id, m.to_node
    ), routed as (
      update {{schema}}.account a set node = s.to_node from switched s where a.account_id = s.account_id returning a.account_id
    )
    select r.account_id as id from routed r`,
  // The move that the nodes know, which ended here: its row takes the place of the other one, which was begun since nobody knew where the account is.
  move_forget_ended: `delete from {{schema}}.account_move where id = $1::bigint and account_id = $2 and ended_at is not null returning id::text as id`,
  // The nodes have it so, whatever this database says, which has lost something.
  move_correct: `with corrected as (
      update {{schema}}.account_move m set id = $2::bigint, state = 'switched', switched_at = coalesce(m.switched_at, clock_timestamp())
      where m.id = $1::bigint and m.state in ('leaving', 'returning') returning m.account_id, m.to_node
    ), routed as (
      update {{schema}}.account a set node = c.to_node from corrected c where a.account_id = c.account_id returning a.account_id
    )
    select r.account_id as id from routed r`,
  move_back: `update {{schema}}.account_move set state = 'returning'
    where id = $1::bigint and state in ('leaving', 'returning') returning id::text as id`,
  move_resume: `update {{schema}}.account_move set resumed_at = coalesce(resumed_at, clock_timestamp()) where id = $1::bigint returning id::text as id`,
  move_end: `update {{schema}}.account_move set state = case state when 'switched' then 'done' else 'returned' end, ended_at = clock_timestamp()
    where id = $1::bigint and state in ('switched', 'returning') returning id::text as id`,
} as const

/** A move of an account as the directory has it. */
export interface DirectoryMove {
  readonly id: string
  readonly accountId: string
  readonly fromNode: string
  readonly toNode: string
  readonly state: 'leaving' | 'switched' | 'done' | 'returning' | 'returned'
  readonly actor: string | null
  readonly reason: string | null
  readonly transfers: number | null
  readonly pauseMs: number | null
  readonly totalMs: number | null
}

/** An account as the directory has it. */
export interface DirectoryAccount {
  readonly accountId: string
  readonly node: string
  /** True while a move of it has not ended. */
  readonly isMoving: boolean
}

/** The moves of accounts, in the database of the directory, which decides of each. */
export interface DirectoryMoves {
  /**
   * Runs `work` while no other process does so for this account, as far as connections hold; `undefined` when another one does. Holds a connection of the pool
   * meanwhile, and waits for others that do until one is left over for their statements.
   * @throws OutlayError `aborted` by the signal while it waits; `invalid_request` for a pool of one connection; `node_unavailable` when the directory does not answer
   */
  alone<T>(
    accountId: string,
    work: () => Promise<T>,
    signal?: AbortSignal | undefined,
  ): Promise<{ readonly value: T } | undefined>
  /** Begins a move where none is open and the account is elsewhere. Gives the node of the account now; `undefined` for an account that has none. */
  begin(
    accountId: string,
    to: string,
    actor: string | null,
    reason: string | null,
  ): Promise<{ readonly node: string; readonly isBegun: boolean } | undefined>
  /** The move of an account that has not ended. */
  open(accountId: string): Promise<DirectoryMove | undefined>
  read(move: string): Promise<DirectoryMove | undefined>
  /** Accounts behind one, in the order of their ids. */
  accounts(after: string, limit: number): Promise<readonly DirectoryAccount[]>
  /** Those of these that it has, in the same order. */
  accountsOf(accountIds: readonly string[]): Promise<readonly DirectoryAccount[]>
  /** Each is true when the row was in a state that allows it. */
  pause(move: string): Promise<boolean>
  switch(move: string, transfers: number): Promise<boolean>
  /** Writes that a move has switched, where the nodes say so, with the id that they have. */
  correct(accountId: string, move: string, version: string): Promise<boolean>
  back(move: string): Promise<boolean>
  resume(move: string): Promise<boolean>
  end(move: string): Promise<boolean>
}

/** The lock is held by a transaction that does nothing for as long as a move takes. Earlier servers have no limit of a whole transaction. */
const noTimeouts = `select set_config(s.name, '0', true) from pg_catalog.pg_settings s
  where s.name in ('idle_in_transaction_session_timeout', 'transaction_timeout')`

/** How long the lock of another process is waited for, which may have been killed a moment ago, and the pause between two tries, in milliseconds. */
const lockMs = { longest: 3_000, pause: 50 }

async function lock(session: SqlSession, text: string, accountId: string): Promise<boolean> {
  const endMs = performance.now() + lockMs.longest
  for (;;) {
    const { rows } = await session.query(text, [accountId])
    // A statement with values keeps its snapshot until the next one: a move would wait for it, and vacuum, too.
    await session.query('select 1')
    if (rows[0]?.['is_mine'] === true) return true
    if (performance.now() > endMs) return false
    await delay(lockMs.pause)
  }
}

/** Makes the store of moves in the directory. */
export function createDirectoryMoves(
  driver: Pick<Driver<never>, 'query' | 'session' | 'maxConnections'>,
  tokens: Readonly<Record<string, string>>,
  places: MovePlaces,
): DirectoryMoves {
  const sql = statements(tokens, texts)
  const ask = (name: keyof typeof texts, values: readonly unknown[]) =>
    askPatiently('directory', () => driver.query(sql[name], values))
  const did = async (name: keyof typeof texts, values: readonly unknown[]) => (await ask(name, values)).length > 0
  return {
    async alone(accountId, work, signal) {
      const { maxConnections = 2 } = driver
      if (maxConnections < 2) {
        const message = 'A move needs two connections of the pool of directory(), and this one has one; raise its max.'
        throw new OutlayError('invalid_request', message, { field: 'pool' })
      }
      using _ = await places.take(maxConnections - 1, signal, () => moveAborted(accountId))
      const locked = driver.session(async (session) => {
        // A lock of a transaction, so that it is of use behind a pooler, too. What is lost with its connection is the courtesy, and not the safety.
        await session.query('begin')
        try {
          await session.query(noTimeouts)
          const isMine = await lock(session, sql.move_lock.text, accountId)
          return isMine ? { value: await work() } : undefined
        } finally {
          await session.query('rollback').catch(() => undefined)
        }
      })
      return await locked.catch((error: unknown) => {
        throw nodeError('directory', error)
      })
    },
    begin: async (...values) => readFirst(readBegun, await ask('move_begin', values)),
    open: async (accountId) => readFirst(readMove, await ask('move_open', [accountId])),
    read: async (move) => readFirst(readMove, await ask('move_read', [move])),
    accounts: async (after, limit) => (await ask('move_accounts', [after, limit])).map((row) => readAccount(row)),
    accountsOf: async (accountIds) => (await ask('move_accounts_of', [accountIds])).map((row) => readAccount(row)),
    pause: (move) => did('move_pause', [move]),
    switch: (move, transfers) => did('move_switch', [move, transfers]),
    async correct(accountId, move, version) {
      if (move !== version) await ask('move_forget_ended', [version, accountId])
      return did('move_correct', [move, version])
    },
    back: (move) => did('move_back', [move]),
    resume: (move) => did('move_resume', [move]),
    end: (move) => did('move_end', [move]),
  }
}

const readAccount = rowDecoder('account', { accountId: Column.text, node: Column.text, isMoving: Column.boolean })
const readBegun = rowDecoder('move', { node: Column.text, isBegun: Column.boolean })
const readMove = rowDecoder('move', {
  id: Column.text,
  accountId: Column.text,
  fromNode: Column.text,
  toNode: Column.text,
  state: Column.word<DirectoryMove['state']>(),
  actor: Column.nullable(Column.text),
  reason: Column.nullable(Column.text),
  transfers: Column.nullable(Column.integer),
  pauseMs: Column.nullable(Column.anyNumber),
  totalMs: Column.nullable(Column.anyNumber),
})
