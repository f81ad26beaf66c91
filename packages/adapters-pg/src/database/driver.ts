import type { Row, Statement } from './statement.ts'

/** A connection that receives notifications. */
export interface Listener {
  close(): Promise<void>
}

/** How to receive notifications. */
export interface ListenOptions {
  readonly channel: string
  /** Called with each notification, as node-postgres gives it; without its payload everything that may have been meant wakes. */
  readonly onNotification: (notification?: { readonly payload?: string | undefined }) => void
  /** Called once when the connection is lost; the caller opens another. */
  readonly onLost: (error: Error) => void
}

/** One connection, for a sequence of statements that must share it. */
export interface SqlSession {
  query(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
}

/** How long a transaction may last. */
export interface TransactionOptions {
  /** A library that limits its transactions must let this one last at least so long, in milliseconds. */
  readonly longestMs?: number | undefined
}

/**
 * The way into Postgres through the host's own library. `Tx` is the type that the library gives to the function that runs
 * inside a transaction; a root handle is of another type, so passing one does not compile.
 */
export interface Driver<Tx> {
  readonly name: string
  /** Connections that it opens at most; absent when it does not know. */
  readonly maxConnections?: number | undefined
  /**
   * Runs one statement inside the host's transaction, and refuses with `no_transaction` when none is open. What Postgres refuses has its
   * SQLSTATE as the `code` of the error or of its cause.
   */
  execute(tx: Tx, statement: Statement, values: readonly unknown[]): Promise<readonly Row[]>
  /** Runs `work` in a new transaction of the host's own type. */
  transaction<T>(work: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /**
   * Runs one statement on its own. Calls `onSent` when it has a connection, just before it sends the statement, so that a wait for the
   * pool does not count as the age of what is read; a driver that never calls it is taken to send at once.
   */
  query(statement: Statement, values: readonly unknown[], onSent?: () => void): Promise<readonly Row[]>
  /** Runs SQL text of any number of statements, for migrations and the queue. */
  run(text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }>
  /** Runs `work` on one connection, outside a transaction. */
  session<T>(work: (session: SqlSession) => Promise<T>): Promise<T>
  /** Opens a separate connection that listens on a channel; absent when the library cannot. */
  listen?(options: ListenOptions): Promise<Listener>
  /** Calls back for errors of idle connections, so that a restart of the server does not end the process. */
  onError(listener: (error: Error) => void): () => void
}
