import { PassThrough } from 'node:stream'
import postgres, { type Options, type PostgresType, type Sql, type TransactionSql } from 'postgres'
import type { PoolDriver } from '../pool.ts'
import { openLastingSocket } from './lasting-socket.ts'
import { type HostSocket, openSocket, type SocketOptions } from './open-socket.ts'
import { openTurns } from './turns.ts'

/** Runs `work` in a transaction. */
type Begin = <T>(work: (tx: TransactionSql) => Promise<T>) => Promise<T>

/** Settings as an instance of postgres.js keeps them. */
interface Settings extends SocketOptions {
  readonly connect_timeout: unknown
  readonly fetch_types: boolean
  readonly pass: unknown
  readonly parsers: object
  readonly serializers: object
  readonly shared: { readonly typeArrayMap: object }
}

/** An instance of postgres.js for one transaction at a time. */
interface Instance {
  readonly begin: Begin
  /** Aborted when it is of no use any more. */
  readonly lost: AbortSignal
  lose(reason: Error): void
  /** Lets the process end while the instance is free, and closes it after a while; false when it is of no use any more. */
  rest(): boolean
  wake(): void
}

/** How long a free instance stays open, in milliseconds. */
const restMs = 10_000

/** The longest that a timer of Node.js can wait, in milliseconds. */
const longestMs = 2 ** 31 - 1

/**
 * The transactions that the engine itself opens: with the settings of the host's instance, on instances that no host sees. Each of their sockets
 * outlives its connection, so that a loss ends no process. As many run at a time as the pool has connections; the others wait.
 */
export function openOwnTransactions(
  sql: Sql,
  background: PoolDriver,
): { readonly begin: Begin } & Pick<PoolDriver, 'onError'> {
  const settings = sql.options as unknown as Settings
  const inTurn = openTurns(background.maxConnections ?? sql.options.max)
  const free = new Set<Instance>()
  let turn = 0
  const take = () => {
    // The last one, so that those that are not needed close.
    const known = [...free].at(-1)
    const instance = known ?? openInstance(settings, turn % settings.host.length)
    if (known === undefined) instance.lost.addEventListener('abort', () => free.delete(instance))
    free.delete(instance)
    instance.wake()
    return instance
  }
  const begin: Begin = async (work) => {
    for (let tried = 1; ; tried += 1) {
      const instance = take()
      let hasBegun = false
      try {
        const result = await instance.begin((tx) => {
          hasBegun = true
          return work(tx)
        })
        if (instance.rest()) free.add(instance)
        return result
      } catch (error) {
        // A statement of it that comes late would run by itself, or in the next transaction.
        instance.lose(new Error('This transaction has failed.', { cause: error }))
        if (hasBegun || tried >= settings.host.length) throw error
        turn += 1
      }
    }
  }
  return {
    begin: (work) => inTurn(() => begin(work)),
    onError(listener) {
      const off = background.onError(listener)
      return () => {
        off()
        for (const instance of free) instance.lose(new Error('The engine has stopped.'))
      }
    },
  }
}

function openInstance(host: Settings, at: number): Instance {
  const losing = new AbortController()
  const lose = (reason: Error) => losing.abort(reason)
  const limitMs = limitOf(host)
  const startLimit = () =>
    setTimeout(() => lose(new Error(`Postgres did not begin or end a transaction in ${limitMs} ms.`)), limitMs)
  const sockets = new Set<HostSocket>()
  let opened = 0
  let isReady = false
  let isWhole = true
  let ended = ''
  let resting: NodeJS.Timeout | undefined
  // A connection beside that of the transaction may end for good, as one does that cancels a query.
  const besides = () => {
    const beside = new AbortController()
    losing.signal.addEventListener('abort', () => beside.abort(losing.signal.reason))
    beside.signal.addEventListener('abort', () => {
      isWhole = false
      if (resting !== undefined) lose(beside.signal.reason)
    })
    return beside
  }
  const reach = { ...host, host: host.host.slice(at, at + 1), port: host.port.slice(at, at + 1) }
  const settings = {
    ...withoutWatchers(reach),
    pass: () => passwordOf(host, lose),
    async socket() {
      // The limit of the transaction covers the start of its own connection.
      const isOwn = opened++ === 0
      const own = isOwn ? losing : besides()
      const onReady = isOwn ? undefined : limitStart(own, limitMs)
      const signal = AbortSignal.any([losing.signal, AbortSignal.timeout(limitMs)])
      const socket = await openSocket(reach, signal).catch((error: unknown) => {
        // postgres.js does not try again after an error, and lets those wait that come next.
        own.abort(error)
        return new PassThrough().destroy()
      })
      sockets.add(socket)
      const onEnded = (tag: string) => (ended = tag)
      return openLastingSocket(socket, { isAnswered: () => isReady, losing: own, onEnded, onReady })
    },
  }
  const sql = postgres(settings as unknown as Options<Record<string, PostgresType>>)
  return {
    lost: losing.signal,
    lose,
    async begin(work) {
      ended = ''
      const result = await beginOn(sql, losing, startLimit, (tx) => {
        isReady = true
        settings.fetch_types = false
        return work(tx)
      })
      if (ended === '' || ended === 'ROLLBACK') throw new Error(notCommitted)
      return result
    },
    rest() {
      if (!isWhole) lose(new Error('A connection beside that of the transaction has ended.'))
      if (losing.signal.aborted) return false
      for (const socket of sockets) socket.unref?.()
      resting = setTimeout(() => lose(new Error('Nothing was to do.')), restMs).unref()
      return true
    },
    wake() {
      clearTimeout(resting)
      resting = undefined
      for (const socket of sockets) socket.ref?.()
    },
  }
}

/** Loses a connection that is not ready in time; returns what ends the limit. */
function limitStart(own: AbortController, limitMs: number): () => void {
  const reason = () => new Error(`Postgres did not begin a session beside that of a transaction in ${limitMs} ms.`)
  const limit = setTimeout(() => own.abort(reason()), limitMs).unref()
  const end = () => clearTimeout(limit)
  own.signal.addEventListener('abort', end, { once: true })
  return end
}

const notCommitted =
  'Postgres did not commit this transaction: it was ended in SQL, or a statement in it failed that nobody waited for.'

/** How long Postgres may take for the begin and the end of a transaction each, in milliseconds. */
function limitOf({ connect_timeout: given }: Settings): number {
  const seconds = Number(typeof given === 'function' ? given() : given)
  return seconds > 0 ? Math.min(Math.ceil(seconds * 1_000), longestMs) : 30_000
}

/** Runs `work` in a transaction. From its beginning on, it learns of a loss by its queries. */
async function beginOn<T>(
  sql: Sql,
  losing: AbortController,
  startLimit: () => NodeJS.Timeout,
  work: (tx: TransactionSql) => Promise<T>,
): Promise<T> {
  let hasBegun = false
  let failure: { readonly error: unknown } | undefined
  let limit = startLimit()
  const begun = sql.begin(async (tx) => {
    clearTimeout(limit)
    hasBegun = true
    try {
      return { result: await work(tx) }
    } catch (error) {
      failure = { error }
      throw error
    } finally {
      limit = startLimit()
    }
  })
  const { promise: lost, reject } = Promise.withResolvers<never>()
  const onLost = () => hasBegun || reject(losing.signal.reason)
  losing.signal.addEventListener('abort', onLost)
  try {
    return (await Promise.race([begun, lost])).result
  } catch (error) {
    // The loss is why the rollback failed, and not why it came to that.
    throw losing.signal.aborted && failure !== undefined ? failure.error : error
  } finally {
    clearTimeout(limit)
    losing.signal.removeEventListener('abort', onLost)
  }
}

/** The password. Nobody in postgres.js waits for it, so one that is not to be had would end the process. */
async function passwordOf({ pass }: Settings, lose: (reason: Error) => void): Promise<string> {
  try {
    const password: unknown = typeof pass === 'function' ? await pass() : pass
    if (typeof password !== 'string') throw new TypeError('The password is no string.')
    return password
  } catch (error) {
    lose(new Error('The password for Postgres is not to be had.', { cause: error }))
    return ''
  }
}

/** The settings of an instance of its own: what the host's one has learned is copied, and nothing of it is called. */
const withoutWatchers = (host: Settings) => ({
  ...host,
  // One connection for the transaction, and one for what postgres.js sends beside it, such as `tx.notify`.
  max: 2,
  ssl: false,
  connect_timeout: null,
  idle_timeout: null,
  max_lifetime: null,
  no_subscribe: true,
  onclose: undefined,
  onparameter: undefined,
  parameters: {},
  parsers: { ...host.parsers },
  serializers: { ...host.serializers },
  shared: { retries: 0, typeArrayMap: { ...host.shared.typeArrayMap } },
  fetch_types: host.fetch_types && Object.keys(host.shared.typeArrayMap).length === 0,
})
