import type { Pool, QueryResult } from 'pg'
import type { ExecutorQuery } from './statement.ts'
import type { TransactionSetting } from './transaction-settings.ts'

/** Statements that are one transaction and travel in one round trip, with the settings of the transaction ahead of them. */
export interface PipelineQuery {
  /** How many statements have completed. After an error, the place of the one that failed; their number when the commit failed. */
  readonly completed: number
}

/** Makes a {@link PipelineQuery} of at least one statement. */
export type PipelineQueryClass = new (
  queries: readonly ExecutorQuery[],
  settings: readonly TransactionSetting[],
) => PipelineQuery

/** The results of a pipeline, in the order of its statements. */
export const resultsOf = (results: QueryResult | readonly QueryResult[]): readonly QueryResult[] =>
  'rows' in results ? [results] : results

/**
 * The kind of {@link PipelineQuery} that the clients of a pool can send; `undefined` unless they are the JavaScript clients of
 * node-postgres.
 *
 * Messages of a client up to one `Sync` are one transaction (PostgreSQL, "Pipelining"). So a setting that is local to its
 * transaction applies to the statements after it and is gone when the connection returns to the pool, and either all statements
 * take effect or none.
 */
export function findPipelineQuery(pool: Pool): PipelineQueryClass | undefined {
  const { Query } = (pool as unknown as { readonly Client?: { readonly Query?: QueryClass } }).Client ?? {}
  if (typeof Query?.prototype?.prepare !== 'function') return undefined
  let known = kinds.get(Query)
  if (known === undefined) {
    known = extend(Query)
    kinds.set(Query, known)
  }
  return known
}

const kinds = new WeakMap<QueryClass, PipelineQueryClass>()

/** The members of node-postgres's queries that this file uses. */
interface QueryParts {
  callback?: ((error: unknown) => void) | undefined
  requiresPreparation(): boolean
  prepare(connection: Connection): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleError(error: unknown, connection: Connection): void
}

type QueryClass = new (query: object) => QueryParts

interface Connection {
  readonly parsedStatements: Record<string, string>
  /** Newer releases only. */
  readonly submittedNamedStatements: Record<string, string> | undefined
  parse(message: object): void
  bind(message: BindMessage): void
  describe(message: object): void
  execute(message: object): void
  close(): void
  sync(): void
}

interface BindMessage {
  readonly values?: readonly unknown[] | undefined
  readonly valueMapper?: ((value: unknown, index: number) => unknown) | undefined
}

/** One statement for all settings of a transaction, named when the statements behind it are. */
function settingsQuery(settings: readonly TransactionSetting[], named: boolean): ExecutorQuery {
  const calls = settings.map((_, at) => `set_config($${2 * at + 1}, $${2 * at + 2}, true)`)
  const name = named ? `outlay_settings_${settings.length}` : undefined
  return { name, text: `select ${calls.join(', ')}`, values: settings.flat() }
}

function extend(Query: QueryClass): PipelineQueryClass {
  return class extends Query {
    readonly #settings: ExecutorQuery
    readonly #queries: readonly ExecutorQuery[]
    /** -1 while answers belong to the settings. */
    #place = -1

    constructor(queries: readonly ExecutorQuery[], settings: readonly TransactionSetting[]) {
      const first = settingsQuery(settings, queries[0]?.name !== undefined)
      super(first)
      this.#settings = first
      this.#queries = queries
      // The client records the statement of its query as prepared at every answer to a Parse.
      const current = () => (this.#place < 0 ? first : queries[this.#place])
      Object.defineProperty(this, 'name', { get: () => current()?.name })
      Object.defineProperty(this, 'text', { get: () => current()?.text })
    }

    get completed(): number {
      return Math.max(this.#place, 0)
    }

    override requiresPreparation(): boolean {
      return true
    }

    override prepare(connection: Connection): void {
      const { messages, errors } = messagesOf(Query, connection, this.#settings, this.#queries)
      // A value that cannot be sent is found before the first message leaves.
      if (errors.length === 0) for (const send of messages) send()
      connection.sync()
      if (errors.length > 0) this.handleError(errors[0], connection)
    }

    override handleDataRow(message: unknown): void {
      if (this.#place >= 0) super.handleDataRow(message)
    }

    override handleCommandComplete(message: unknown, connection: Connection): void {
      if (this.#place >= 0) super.handleCommandComplete(message, connection)
      this.#place += 1
    }

    override handleError(error: unknown, connection: Connection): void {
      this.#forget(connection)
      super.handleError(error, connection)
    }

    /** The server skips everything from the error up to the Sync, so later statements were not prepared. */
    #forget({ submittedNamedStatements }: Connection): void {
      for (const { name } of [this.#settings, ...this.#queries]) {
        if (name !== undefined) delete submittedNamedStatements?.[name]
      }
    }
  }
}

/** What a pipeline sends, without its `Sync`, and the errors of values that cannot be sent. */
function messagesOf(
  Query: QueryClass,
  connection: Connection,
  settings: ExecutorQuery,
  queries: readonly ExecutorQuery[],
) {
  const messages: (() => void)[] = []
  const errors: unknown[] = []
  const prepareOne = (query: ExecutorQuery, recorder: Connection) => {
    const known = query.name === undefined ? undefined : knownText(connection, query.name)
    if (known !== undefined && known !== query.text) {
      errors.push(
        new Error(`Prepared statements must be unique: ${query.name} is another statement on this connection.`),
      )
    }
    const part = new Query({ ...query, values: [...query.values] })
    part.callback = (error) => errors.push(error)
    part.prepare(recorder)
  }
  const recorder = recorderOf(connection, messages)
  // Nobody reads the row of the settings.
  prepareOne(settings, { ...recorder, describe() {} })
  for (const one of queries) prepareOne(one, recorder)
  return { messages, errors }
}

/** The text under which a name is prepared on a connection, or about to be. */
const knownText = ({ parsedStatements, submittedNamedStatements }: Connection, name: string) =>
  parsedStatements[name] ?? submittedNamedStatements?.[name]

/** A connection that keeps what a query sends, without its `Sync`. */
function recorderOf(connection: Connection, messages: (() => void)[]): Connection {
  return {
    parsedStatements: connection.parsedStatements,
    submittedNamedStatements: connection.submittedNamedStatements,
    parse: (message) => messages.push(() => connection.parse(message)),
    bind(message) {
      const { valueMapper = (value: unknown) => value } = message
      const values = message.values?.map((value, index) => valueMapper(value, index))
      messages.push(() => connection.bind({ ...message, values, valueMapper: undefined }))
    },
    describe: (message) => messages.push(() => connection.describe(message)),
    execute: (message) => messages.push(() => connection.execute(message)),
    close() {},
    sync() {},
  }
}
