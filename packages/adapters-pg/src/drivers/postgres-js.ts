import { setImmediate } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import { escapeLiteral, types } from 'pg'
import postgres, {
  type Options,
  type PendingQuery,
  type RowList,
  type Sql,
  type Row as SqlRow,
  type TransactionSql,
} from 'postgres'
import type { Driver, Listener, ListenOptions, SqlSession } from '../database/driver.ts'
import { hasSqlState } from '../database/lock-timeout.ts'
import { noTransaction, probeText, probeTransaction } from '../database/open-transaction.ts'
import { SessionEnded } from '../database/session-ended.ts'
import type { Row, Statement } from '../database/statement.ts'
import { checkDriverOptions, type PgDriverOptions } from './pool.ts'

/** What every handle of postgres.js can do: the root, a transaction, and a reserved connection. */
type Handle = Pick<Sql, 'unsafe' | 'typed'>

/**
 * A driver on postgres.js. The transaction is the one that `sql.begin` gives, savepoints included.
 *
 * The host's own `types` and its transforms of columns and values do not touch the engine's statements; a transform of whole rows would,
 * so it is refused. Listening uses one connection more than `max`.
 *
 * @example
 * const sql = postgres(url)
 * const engine = createEngine({ backend: postgresBackend({ driver: postgresJsDriver(sql) }), gateway })
 */
export function postgresJsDriver<Types extends Record<string, unknown>>(
  sql: Sql<Types>,
  options: PgDriverOptions = {},
): Driver<TransactionSql<Types>> {
  checkDriverOptions(options)
  const read = rowReader(sql as Sql)
  const send = (handle: Handle, text: string, values: readonly unknown[] | undefined, prepare: boolean) =>
    read(
      handle.unsafe(
        text,
        (values ?? []).map((value) => handle.typed(toText(value) as string, unknownType)),
        { prepare },
      ),
    )
  const isPrepared = options.prepared ?? sql.options.prepare
  const inSession = <T>(work: (handle: Handle) => Promise<T>) => inReserved(sql as Sql, read, work)
  const run = (handle: Handle, text: string, values?: readonly unknown[]) => send(handle, text, values, false)
  return {
    name: 'postgres.js',
    maxConnections: sql.options.max,
    async execute(tx, statement, values) {
      // One message: where no transaction is open, Postgres refuses the savepoint, and with it the statement.
      const text = `${probeText}; ${inline(statement, values)}`
      let rows: readonly Row[] = []
      await probeTransaction(async () => {
        rows = await run(tx as unknown as Handle, text)
      })
      return rows
    },
    transaction: (work) => inTransaction(sql, work),
    query: ({ text }, values, onSent) =>
      inSession((handle) => {
        onSent?.()
        return send(handle, text, values, isPrepared)
      }),
    run: async (text, values) => ({ rows: [...(await inSession((handle) => run(handle, text, values)))] }),
    session: (work) =>
      inSession((handle) => {
        const session: SqlSession = {
          query: async (text, values) => ({ rows: [...(await run(handle, text, values))] }),
        }
        return work(session)
      }),
    listen: (listen) => listenBeside(sql as Sql, listen),
    // postgres.js replaces connections that fail while they are idle, and reports no error of theirs.
    onError: () => () => undefined,
  }
}

/**
 * Runs `work` in a transaction. A write on a connection that has closed ends the process in postgres.js, its own `rollback` included. So
 * once the connection is lost, nothing more is sent on it: not by postgres.js, and not by a handler that goes on.
 */
async function inTransaction<Types extends Record<string, unknown>, T>(
  sql: Sql<Types>,
  work: (tx: TransactionSql<Types>) => Promise<T>,
): Promise<T> {
  const state = { isOver: false }
  let working: Promise<PromiseSettledResult<T>[]> | undefined
  try {
    // postgres.js waits for the members of an array that is returned.
    const { result } = await sql.begin(async (tx) => {
      working = Promise.allSettled([Promise.resolve(guard(tx, state)).then(work)])
      const [outcome] = await working
      const error: unknown = outcome?.status === 'rejected' ? outcome.reason : undefined
      // By then a connection that was lost has ended the transaction.
      await setImmediate()
      if (state.isOver || error instanceof SessionEnded) await new Promise(() => {})
      if (outcome?.status !== 'fulfilled') throw error
      return { result: outcome.value }
    })
    return result as T
  } catch (error) {
    state.isOver = true
    const [outcome] = (await working) ?? []
    throw outcome?.status === 'rejected' ? outcome.reason : error
  } finally {
    state.isOver = true
  }
}

/** The transaction, which refuses queries once it is over. */
function guard<Types extends Record<string, unknown>>(
  tx: TransactionSql<Types>,
  state: { readonly isOver: boolean },
): TransactionSql<Types> {
  const refusal = () => Promise.reject(noTransaction('is a transaction of postgres.js that has ended'))
  return new Proxy(tx, {
    // Of the calls, only a tagged template is a query.
    apply: (target, self, values) =>
      state.isOver && values[0]?.raw !== undefined ? refusal() : Reflect.apply(target as never, self, values),
    get(target, member, receiver) {
      const value: unknown = Reflect.get(target, member, receiver)
      if (member === 'savepoint') {
        return (...values: unknown[]) => {
          const inside = values.at(-1) as (tx: TransactionSql<Types>) => unknown
          const given = [...values.slice(0, -1), (inner: TransactionSql<Types>) => inside(guard(inner, state))]
          return state.isOver ? refusal() : Reflect.apply(value as never, target, given)
        }
      }
      if (member !== 'unsafe' && member !== 'file' && member !== 'notify' && member !== 'prepare') return value
      return (...values: unknown[]) => (state.isOver ? refusal() : Reflect.apply(value as never, target, values))
    },
  })
}

/** Listens on an instance of its own. `sql.listen` cannot stop once it has connected again, and does not report what it has missed. */
async function listenBeside(sql: Sql, { channel, onNotification, onLost }: ListenOptions): Promise<Listener> {
  let isOpen = false
  const options = {
    ...sql.options,
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    fetch_types: false,
    onnotify: onNotification,
    onclose() {
      if (!isOpen) return
      isOpen = false
      void listening.end({ timeout: 0 })
      onLost(new Error('The listening connection ended.'))
    },
  }
  const listening = postgres(options as unknown as Options<Record<string, never>>)
  try {
    await listening.unsafe(`listen "${channel}"`)
  } catch (error) {
    void listening.end({ timeout: 0 })
    throw error
  }
  isOpen = true
  return {
    async close() {
      isOpen = false
      await listening.end({ timeout: 0 })
    },
  }
}

/** The type of a parameter that Postgres infers from its place. Other types would get the serializers of the host. */
const unknownType = 705

/** The text form of a value, as node-postgres sends it. */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return `{${value.map(toElement).join(',')}}`
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function toElement(value: unknown): string {
  const text = toText(value)
  if (text === null) return 'NULL'
  return Array.isArray(value) ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

/** The statement with its values in its text, since a message of several statements has no parameters. */
function inline({ text }: Statement, values: readonly unknown[]): string {
  const literals = values.map((value) => {
    const literal = toText(value)
    return literal === null ? 'null' : escapeLiteral(literal)
  })
  return text.replaceAll(/\$(\d+)/g, (_, number) => literals[Number(number) - 1] ?? 'null')
}

type ReadRows = (query: PendingQuery<SqlRow[]>) => Promise<readonly Row[]>

/**
 * Makes a function that reads the rows of a query, those of the last statement where it has several, as node-postgres would: by the
 * types that Postgres names, whatever parsers and transforms the host has.
 */
function rowReader(sql: Sql): ReadRows {
  const { column, row } = (sql.options as unknown as { readonly transform: Transforms }).transform
  if (row.from !== undefined || (column.from !== undefined && column.to === undefined)) {
    const message =
      'postgres.js has a transform of rows, or one of columns without its reverse; give the engine an instance of postgres.js without it'
    throw new OutlayError('invalid_request', message, { field: 'sql' })
  }
  const nameOf = (name: string) => (column.from === undefined ? name : (column.to?.(name) ?? name))
  return async (query) => {
    const results: unknown = await query.raw()
    const isMany = Array.isArray(results) && Array.isArray(results[0]) && 'command' in results[0]
    const result = (isMany ? results.at(-1) : results) as RowList<(Buffer | null)[][]>
    // A statement without rows has no columns.
    const parsers = (result.statement?.columns ?? []).map(({ name, type }) => ({
      name: nameOf(name),
      parse: types.getTypeParser(type, 'text') as (text: string) => unknown,
    }))
    return [...result].map((values) =>
      Object.fromEntries(
        parsers.map(({ name, parse }, index) => {
          const value = values[index]
          return [name, value === null || value === undefined ? null : parse(value.toString())]
        }),
      ),
    )
  }
}

interface Transforms {
  readonly column: { readonly from?: (name: string) => string; readonly to?: (name: string) => string }
  readonly row: { readonly from?: unknown }
}

/** True in a transaction that was begun before the statement. Only as a message of its own does it say so. */
const leftOpenText = 'select now() <> statement_timestamp() as left_open'

/**
 * Runs `work` on one connection, outside a transaction. Where a host has left a transaction open on it, whatever `work` did is undone
 * with that transaction, and runs again elsewhere.
 */
async function inReserved<T>(sql: Sql, read: ReadRows, work: (handle: Handle) => Promise<T>): Promise<T> {
  for (;;) {
    const reserved = await sql.reserve()
    const [check, outcome] = await Promise.allSettled([
      read(reserved.unsafe(leftOpenText)),
      Promise.resolve().then(() => work(reserved)),
    ])
    const isLeftOpen = check.status === 'fulfilled' && check.value[0]?.['left_open'] === true
    if (check.status === 'fulfilled' && outcome.status === 'fulfilled' && !isLeftOpen) {
      reserved.release()
      return outcome.value
    }
    await discard(reserved, outcome.status === 'rejected' ? outcome.reason : undefined)
    if (isLeftOpen) continue
    throw check.status === 'rejected' ? check.reason : (outcome as PromiseRejectedResult).reason
  }
}

/** Ends a connection in an unknown state. postgres.js takes it back when it has closed; one that is lost may be in other hands by now. */
async function discard(reserved: Handle, error: unknown): Promise<void> {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  const isLost = typeof code === 'string' && !/^[0-9A-Z]{5}$/.test(code)
  if (isLost || hasSqlState(error, /^(57P|08)/)) return
  await reserved.unsafe('select pg_terminate_backend(pg_backend_pid())').catch(() => undefined)
}
