import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/** Options of the command. */
export interface Options {
  readonly port: number
  /** Directory of the data: the database, unless one is given, and the credentials. */
  readonly dataDir: string
  /** URL of an external database; `undefined` for the embedded one. */
  readonly databaseUrl: string | undefined
  /** 32 octets in base64; `undefined` for the key that the data directory keeps. */
  readonly encryptionKey: string | undefined
  /** Whether webhooks may go to private addresses. */
  readonly allowPrivateWebhooks: boolean
  /** What decides where the two contracts contradict each other. */
  readonly dialect: (typeof dialects)[number]
  /** Path segments of bank linking beside `banklink`; `undefined` for those of the dialect. */
  readonly bankLinkAliases: readonly string[] | undefined
  /** A module that exports `catalog`; `undefined` for the built-in value types and transfer types. */
  readonly catalogModule: string | undefined
  /** Base URL for clients; `undefined` for the address that listens. */
  readonly publicUrl: string | undefined
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent'
}

/** The output of `--help`. */
export const usage = `Runs the money-movement service on this machine, with simulated rails and play money.

  --port <number>         default 4010
  --data-dir <directory>  where the data stay; default .outlay/service in the repository
  --database-url <url>    a PostgreSQL of your own, instead of the embedded one; default DATABASE_URL
  --dialect <name>        specification, or public for programs of the public contract; default specification
  --bank-link-alias <segment>  a path of bank linking beside banklink, any number of times; default plaid in the public dialect
  --catalog <module>      a module that exports catalog, made with createCatalog; default the built-in one
  --public-url <url>      base URL for clients, such as behind a proxy; default the address that listens
  --private-webhooks      webhooks may go to private addresses and over plain HTTP; always so with the embedded database
  --log-level <level>     debug, info, warn, error or silent; default info

OUTLAY_ENCRYPTION_KEY has the key for what is encrypted at rest, 32 octets in base64. Without it, the service makes one and keeps it in
the data directory.
`

const dialects = ['specification', 'public'] as const

const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/**
 * Reads the command line; `undefined` for `--help`.
 * @throws Error with a sentence for an invalid option.
 */
export function readOptions(
  args: readonly string[],
  variables: {
    readonly databaseUrl: string | undefined
    readonly encryptionKey: string | undefined
    readonly repository: string
    /** User id of this process; `undefined` where there are none. */
    readonly uid: number | undefined
  },
): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', default: false },
      port: { type: 'string', default: '4010' },
      'data-dir': { type: 'string' },
      'database-url': { type: 'string' },
      dialect: { type: 'string', default: 'specification' },
      'bank-link-alias': { type: 'string', multiple: true },
      catalog: { type: 'string' },
      'public-url': { type: 'string' },
      'private-webhooks': { type: 'boolean', default: false },
      'log-level': { type: 'string', default: 'info' },
    },
  })
  if (values.help) return undefined
  const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : 65_536
  if (port > 65_535) throw new Error('--port must be a number from 0 to 65535.')
  const logLevel = levels.find((level) => level === values['log-level'])
  if (logLevel === undefined) throw new Error(`--log-level must be one of ${levels.join(', ')}.`)
  const dialect = dialects.find((one) => one === values.dialect)
  if (dialect === undefined) throw new Error(`--dialect must be ${dialects.join(' or ')}.`)
  const databaseUrl = values['database-url'] ?? (variables.databaseUrl || undefined)
  return {
    port,
    logLevel,
    dataDir: values['data-dir'] ?? defaultDataDir(variables),
    databaseUrl,
    dialect,
    bankLinkAliases: values['bank-link-alias'],
    catalogModule: values.catalog,
    publicUrl: values['public-url'],
    encryptionKey: variables.encryptionKey || undefined,
    allowPrivateWebhooks: values['private-webhooks'] || databaseUrl === undefined,
  }
}

/** PostgreSQL does not run as root, and home directories of root are closed to other users. */
function defaultDataDir({
  repository,
  uid,
}: {
  readonly repository: string
  readonly uid: number | undefined
}): string {
  if (uid !== 0) return join(repository, '.outlay', 'service')
  return join('/var/tmp', `outlay-service-${createHash('sha256').update(repository).digest('hex').slice(0, 8)}`)
}
