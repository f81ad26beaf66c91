import postgres, { type Options, type PostgresType, type Sql, type TransactionSql } from 'postgres'
import { runGuarded } from './guarded-transaction.ts'
import { openEnd, type TransactionEnd } from './transaction-end.ts'

/** Runs `work` in a transaction on a connection that no host uses. */
export type Begin = <T>(work: (tx: TransactionSql) => Promise<T>) => Promise<T>

/** An instance with one connection. postgres.js says when an instance loses a connection, and not which transaction was on it. */
interface Instance {
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
  const instances = new Set<Instance>()
  const free: Instance[] = []
  const drop = (instance: Instance) => {
    instances.delete(instance)
    instance.sql.end({ timeout: 0 }).catch(() => undefined)
  }
  let isClosed = false
  const begin: Begin = async (work) => {
    await learnTypes(sql)
    if (isClosed) throw new Error('The instance of postgres.js under the engine has ended.')
    let instance = free.pop()
    if (instance === undefined) {
      instance = openInstance(sql, (lost) => {
        if (!free.includes(lost)) return
        free.splice(free.indexOf(lost), 1)
        drop(lost)
      })
      instances.add(instance)
    }
    try {
      const result = await runIn(instance, work)
      if (instance.isLost || isClosed) drop(instance)
      else free.push(instance)
      return result
    } catch (error) {
      // The state of its connection is unknown.
      drop(instance)
      throw error
    }
  }
  const { end } = sql
  sql.end = async (options) => {
    isClosed = true
    await Promise.all([end(options), ...[...instances].map((instance) => instance.sql.end(options))])
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
 * Waits until the host's instance knows the array types of its database, which the instances share. They do not ask themselves: nobody waits for
 * that question in postgres.js, so a connection that is lost meanwhile would end the process.
 */
async function learnTypes(sql: Sql): Promise<void> {
  const { fetch_types, shared } = internals(sql)
  if (fetch_types && Object.keys(shared.typeArrayMap).length === 0) await sql`select`
}

/** An error with the code that postgres.js gives to it. */
const connectionLost = () =>
  Object.assign(new Error('The connection of this transaction was lost.'), { code: 'CONNECTION_CLOSED' })

function openInstance(host: Sql, onLost: (instance: Instance) => void): Instance {
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
      instance.isLost = true
      instance.running?.complete(connectionLost())
      onLost(instance)
    },
  }
  const instance: Instance = {
    sql: postgres(options as unknown as Options<Record<string, PostgresType>>) as Sql,
    running: undefined,
    isLost: false,
  }
  return instance
}

async function runIn<T>(instance: Instance, work: (tx: TransactionSql) => Promise<T>): Promise<T> {
  const end = openEnd()
  let working: Promise<T> | undefined
  const run = (tx: TransactionSql) => {
    instance.running = end
    working = work(tx)
    return working
  }
  try {
    return (await runGuarded((inside) => instance.sql.begin(inside), run, end)) as T
  } catch (error) {
    // A handler may still run, and learns of the loss by its next query.
    await working
    throw error
  } finally {
    instance.running = undefined
  }
}
