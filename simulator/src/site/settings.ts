import type { Customer } from './customer.ts'

/** What a program of the site reads from its environment. */
export interface Settings {
  readonly databaseUrl: string
  readonly customers: readonly Customer[]
}

/** What a worker reads in addition. */
export interface WorkerSettings extends Settings {
  readonly serviceUrl: string
}

/** What a writer reads in addition. */
export interface WriterSettings extends Settings {
  readonly seed: number
  /** Number of its first payout; a writer that is started again goes on with others. */
  readonly first: number
  /** Transactions in a second. */
  readonly rate: number
  /** Also rolls back, writes many at once, and loses its connection at the commit. */
  readonly isWild: boolean
}

const variable = 'SITE_SETTINGS'

/** The settings as environment of a program. */
export const toEnvironment = (settings: Settings): Record<string, string> => ({ [variable]: JSON.stringify(settings) })

/** Reads the settings back in the program. Throws Error when there are none. */
export function fromEnvironment<S extends Settings>(env: NodeJS.ProcessEnv): S {
  const text = env[variable]
  if (text === undefined) throw new Error(`The environment lacks ${variable}.`)
  return JSON.parse(text) as S
}
