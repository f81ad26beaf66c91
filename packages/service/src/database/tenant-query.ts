import type { Pool } from 'pg'
import type { ExecutorQuery } from './statement.ts'

/** A setting of a transaction that the policies of the tables read. */
export type TenantSetting = readonly [name: 'outlay.client_id' | 'outlay.system', value: string]

/** A query that sends a setting of its transaction ahead of itself, in the same round trip. */
export type TenantQuery = new (query: ExecutorQuery, setting: TenantSetting) => object

/**
 * The kind of {@link TenantQuery} that the clients of a pool can send; `undefined` unless they are the JavaScript clients of
 * node-postgres.
 *
 * Messages of a client up to one `Sync` are one transaction (PostgreSQL, "Pipelining"). So the setting, which is local to its
 * transaction, applies to the statement after it and is gone when the connection returns to the pool.
 */
export function findTenantQuery(pool: Pool): TenantQuery | undefined {
  const { Query } = (pool as unknown as { readonly Client?: { readonly Query?: QueryClass } }).Client ?? {}
  if (typeof Query?.prototype?.prepare !== 'function') return undefined
  let known = kinds.get(Query)
  if (known === undefined) {
    known = extend(Query)
    kinds.set(Query, known)
  }
  return known
}

const kinds = new WeakMap<QueryClass, TenantQuery>()

/** The members of node-postgres's queries that this file uses. */
interface QueryParts {
  name: string | undefined
  requiresPreparation(): boolean
  hasBeenParsed(connection: Connection): unknown
  prepare(connection: Connection): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleError(error: unknown, connection: Connection): void
}

type QueryClass = new (query: object) => QueryParts

interface Connection {
  readonly parsedStatements: Record<string, string>
  /** Newer releases only. */
  readonly submittedNamedStatements?: Record<string, string>
  parse(query: { readonly name: string; readonly text: string }): void
  bind(query: { readonly statement: string; readonly values: readonly string[] }): void
  execute(query: object): void
}

const setting = { name: 'outlay_tenant', text: 'select set_config($1, $2, true)' } as const

function extend(Query: QueryClass): TenantQuery {
  return class extends Query {
    readonly #setting: TenantSetting
    readonly #name: string | undefined
    /** True while answers belong to the setting. */
    #ahead = false
    #isNew = false

    constructor(query: ExecutorQuery, given: TenantSetting) {
      super({ ...query, values: [...query.values] })
      this.#setting = given
      this.#name = query.name
      // The client records the name of a query as prepared at the first answer to a Parse, which may be the setting's.
      Object.defineProperty(this, 'name', { get: () => (this.#ahead ? undefined : this.#name) })
    }

    override requiresPreparation(): boolean {
      return true
    }

    override prepare(connection: Connection): void {
      this.#isNew = !this.hasBeenParsed(connection)
      sendSetting(connection, this.#setting, this.#name !== undefined)
      super.prepare(connection)
      this.#ahead = true
    }

    override handleDataRow(message: unknown): void {
      if (!this.#ahead) super.handleDataRow(message)
    }

    override handleCommandComplete(message: unknown, connection: Connection): void {
      if (this.#ahead) {
        this.#ahead = false
        if (this.#name !== undefined) connection.parsedStatements[setting.name] = setting.text
      } else super.handleCommandComplete(message, connection)
    }

    override handleError(error: unknown, connection: Connection): void {
      if (this.#ahead) {
        // The server skips everything up to the Sync, so the statement was not prepared.
        this.#ahead = false
        delete connection.submittedNamedStatements?.[setting.name]
        if (this.#isNew && this.#name !== undefined) delete connection.submittedNamedStatements?.[this.#name]
      }
      super.handleError(error, connection)
    }
  }
}

function sendSetting(connection: Connection, values: TenantSetting, named: boolean): void {
  const { text } = setting
  const name = named ? setting.name : ''
  const { parsedStatements, submittedNamedStatements } = connection
  const known = named && (parsedStatements[name] ?? submittedNamedStatements?.[name]) !== undefined
  if (!known) {
    connection.parse({ name, text })
    if (named && submittedNamedStatements !== undefined) submittedNamedStatements[name] = text
  }
  connection.bind({ statement: name, values })
  connection.execute({})
}
