import { readFileSync } from 'node:fs'
import type { PoolConfig } from 'pg'

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * A variable that has to be there.
 * @throws Error that names it.
 */
export function demand(env: Environment, name: string): string {
  const value = env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set.`)
  return value
}

/**
 * Where the database is: DATABASE_URL, or PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE. In a URL a password is percent-encoded; in a variable
 * of its own it stands as it is.
 * @throws Error that names what is missing.
 */
export function readDatabase(env: Environment): PoolConfig {
  const url = env['DATABASE_URL']
  if (url) return { connectionString: url }
  if (!env['PGHOST']) throw new Error('Neither DATABASE_URL nor PGHOST is set.')
  const at = { host: env['PGHOST'], user: demand(env, 'PGUSER'), database: demand(env, 'PGDATABASE') }
  return { ...at, port: readPort(env, 'PGPORT', 5_432), password: env['PGPASSWORD'] }
}

/**
 * The same for a process that runs: what the network drops in silence fails after a while, so that it is tried again. A migration has no such
 * limits, since it may build an index for long.
 */
export function readDatabaseOfProcess(env: Environment): PoolConfig {
  const limits = { connectionTimeoutMillis: 10_000, query_timeout: 60_000 }
  return { ...readDatabase(env), ...limits, keepAlive: true, keepAliveInitialDelayMillis: 10_000 }
}

/**
 * The number of a port, from 0 to 65535.
 * @throws Error that names the variable.
 */
export function readPort(env: Environment, name: string, otherwise: number): number {
  const given = env[name]
  if (given === undefined || given === '') return otherwise
  const port = /^\d{1,5}$/.test(given) ? Number(given) : 65_536
  if (port > 65_535) throw new Error(`${name} is a port from 0 to 65535; got ${given}.`)
  return port
}

/** Where a process listens: 127.0.0.1, unless it is alone in a container. */
export const readHost = (env: Environment): string => env['HOST'] || '127.0.0.1'

/** Port of probes and metrics. */
export const readProbePort = (env: Environment): number => readPort(env, 'PROBE_PORT', 8_080)

const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/**
 * Reads LOG_LEVEL; `info` by default.
 * @throws Error for a level that does not exist.
 */
export function readLogLevel(env: Environment): (typeof levels)[number] {
  const given = env['LOG_LEVEL'] || 'info'
  const level = levels.find((one) => one === given)
  if (level === undefined) throw new Error(`LOG_LEVEL is one of ${levels.join(', ')}; got ${given}.`)
  return level
}

/** How a host reaches its service. */
export interface Access {
  readonly baseUrl: string
  readonly credentials: { readonly clientId: string; readonly clientSecret: string }
  /** Whether HTTP is good enough: within one network of containers, and for play money. */
  readonly allowInsecure: boolean
}

/**
 * Reads SERVICE_URL, SERVICE_ALLOW_INSECURE, and CLIENT_ID and CLIENT_SECRET or, from the file that CREDENTIALS_FILE names, the same two as JSON.
 * @throws Error that names what is missing.
 */
export function readAccess(env: Environment): Access {
  const file = env['CREDENTIALS_FILE']
  const given = file ? (JSON.parse(readFileSync(file, 'utf8')) as Environment) : env
  return {
    baseUrl: demand(env, 'SERVICE_URL'),
    credentials: { clientId: demand(given, 'CLIENT_ID'), clientSecret: demand(given, 'CLIENT_SECRET') },
    allowInsecure: env['SERVICE_ALLOW_INSECURE'] === 'true',
  }
}

/**
 * Reads OUTLAY_ENCRYPTION_KEY: 32 octets in base64.
 * @throws Error when it is no such key.
 */
export function readEncryptionKey(env: Environment): Uint8Array {
  const key = Buffer.from(demand(env, 'OUTLAY_ENCRYPTION_KEY'), 'base64')
  if (key.length !== 32) throw new Error('OUTLAY_ENCRYPTION_KEY must be 32 octets in base64.')
  return key
}
