import postgres, { type Options, type PostgresType, type Sql, type TransactionSql } from 'postgres'
import { runGuarded } from './guarded-transaction.ts'
import { openEnd, type TransactionEnd } from './transaction-end.ts'

/** Runs `work` in a transaction on a connection that no host uses. */
export type Begin = <T>(work: (tx: TransactionSql) => Promise<T>) => Promise<T>

/** An instance with one connection. postgres.js says when an instance loses a connection, and not which transaction was on it. */
interface Lane {
  readonly sql: Sql
  /** The end of the transaction that runs on it. */
  running: TransactionEnd | undefined
  isLost: boolean
}

const begins = new WeakMap<object, Begin>()

/**
 * The transactions that the engine itself opens, with the settings of the host's instance, one connection each. All drivers on an instance
 * share them. A connection that is free closes after ten seconds, and with `sql.end()`.
 */
export function openBegin(sql: Sql): Begin {
  const known = begins.get(sql)
  if (known !== undefined) return known
  const lanes = new Set<Lane>()
  const free: Lane[] = []
  const drop = (lane: Lane) => {
    lanes.delete(lane)
    lane.sql.end({ timeout: 0 }).catch(() => undefined)
  }
  let isClosed = false
  const begin: Begin = async (work) => {
    await learnTypes(sql)
    if (isClosed) throw new Error('The instance of postgres.js under the engine has ended.')
    let lane = free.pop()
    if (lane === undefined) {
      lane = openLane(sql, (lost) => void free.splice(free.indexOf(lost), free.includes(lost) ? 1 : 0))
      lanes.add(lane)
    }
    try {
      const result = await runIn(lane, work)
      if (lane.isLost || isClosed) drop(lane)
      else free.push(lane)
      return result
    } catch (error) {
      // The state of its connection is unknown.
      drop(lane)
      throw error
    }
  }
  const { end } = sql
  sql.end = async (options) => {
    isClosed = true
    await Promise.all([end(options), ...[...lanes].map((lane) => lane.sql.end(options))])
  }
  begins.set(sql, begin)
  return begin
}

interface Internals {
  readonly fetch_types: boolean
  readonly shared: { readonly typeArrayMap: Readonly<Record<string, number>> }
}

const internals = (sql: Sql) => sql.options as unknown as Internals

/**
 * Waits until the host's instance knows the array types of its database, which the lanes share. They do not ask themselves: nobody waits for
 * that question in postgres.js, so a connection that is lost meanwhile would end the process.
 */
async function learnTypes(sql: Sql): Promise<void> {
  const { fetch_types, shared } = internals(sql)
  if (fetch_types && Object.keys(shared.typeArrayMap).length === 0) await sql`select`
}

/** An error with the code that postgres.js gives to it. */
const connectionLost = () =>
  Object.assign(new Error('The connection of this transaction was lost.'), { code: 'CONNECTION_CLOSED' })

function openLane(host: Sql, onLost: (lane: Lane) => void): Lane {
  const { typeArrayMap } = internals(host).shared
  const options = {
    ...host.options,
    max: 1,
    fetch_types: false,
    no_subscribe: true,
    idle_timeout: 10,
    max_lifetime: null,
    shared: { retries: 0, typeArrayMap },
    onnotify: undefined,
    // Called at the loss itself, before anybody learns of it by a query that failed.
    onclose() {
      lane.isLost = true
      lane.running?.complete(connectionLost())
      onLost(lane)
    },
  }
  const lane: Lane = {
    sql: postgres(options as unknown as Options<Record<string, PostgresType>>) as Sql,
    running: undefined,
    isLost: false,
  }
  return lane
}

async function runIn<T>(lane: Lane, work: (tx: TransactionSql) => Promise<T>): Promise<T> {
  const end = openEnd()
  let working: Promise<T> | undefined
  const run = (tx: TransactionSql) => {
    lane.running = end
    working = work(tx)
    return working
  }
  try {
    return (await runGuarded((inside) => lane.sql.begin(inside), run, end)) as T
  } catch (error) {
    // A handler may still run, and learns of the loss by its next query.
    await working
    throw error
  } finally {
    lane.running = undefined
  }
}
