/** Where a test server comes from. */
export type PostgresProvider = 'url' | 'container' | 'embedded'

/** How a test server is started. Every member has a default. */
export interface PostgresOptions {
  /**
   * Default: `url` when `OUTLAY_TEST_DATABASE_URL` is set, else `container` when `OUTLAY_POSTGRES=container`, else
   * `embedded`.
   */
  readonly provider?: PostgresProvider | undefined
  /** For `url`: a superuser's connection string. Default `OUTLAY_TEST_DATABASE_URL`. */
  readonly url?: string | undefined
  /** For `container`. Default `OUTLAY_POSTGRES_IMAGE`, else `postgres:18`. */
  readonly image?: string | undefined
  /** False turns fsync off, for tests that do not concern durability. Not for `url`. Default true. */
  readonly durable?: boolean | undefined
  /** For `embedded`: keeps the data here when the server stops. Default: a temporary directory that goes with it. */
  readonly dataDir?: string | undefined
  /** Port on 127.0.0.1. Not for `url`. Default: a free one. */
  readonly port?: number | undefined
  /** Further server settings, such as `{ wal_level: 'logical' }`. Not for `url`. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** How long the server may take until it answers, in milliseconds. Default 60 000. */
  readonly startTimeoutMs?: number | undefined
}

/** How a server goes down: `fast` ends its sessions and writes a checkpoint, `immediate` is a crash. */
export type RestartMode = 'fast' | 'immediate'

/** What a provider hands over: a server that answers. */
export interface PostgresServer {
  /** Connection string of a superuser, to the maintenance database. */
  readonly url: string
  restart(mode: RestartMode): Promise<void>
  stop(): Promise<void>
}
