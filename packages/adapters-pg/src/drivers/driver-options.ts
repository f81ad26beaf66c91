import { OutlayError } from '@outlay/core'
import { checkFlag, checkNames } from '@outlay/core/adapter'

/** How a driver talks to the server. */
export interface PgDriverOptions {
  /** Uses named prepared statements; switch it off behind a pooler that does not track them. Default true. */
  readonly prepared?: boolean | undefined
}

/** What a driver is made of, for the sentences about what is missing or of another library. */
export interface DriverParts {
  /** How the driver is made, such as `kyselyDriver({ db, pool })`. */
  readonly call: string
  /** The parts by name, where the driver takes them in its options: whether each is what it should be, and what that is. */
  readonly parts?: Readonly<Record<string, DriverPart>>
  /** Options that the driver has besides. */
  readonly others?: readonly string[]
}

/** One part: whether something is one, and what it should be, such as `an instance of Kysely, such as new Kysely({ … })`. */
export interface DriverPart {
  is(given: unknown): boolean
  readonly what: string
}

/**
 * Checks the options of a driver, and the parts that they have. A host in plain JavaScript has no compiler that would say what the driver takes.
 * @throws OutlayError `invalid_request` with what is wrong and how the driver is made
 */
export function checkDriverOptions(options: PgDriverOptions, { call, parts = {}, others = [] }: DriverParts): void {
  const names = Object.keys(parts)
  const isObject = typeof options === 'object' && options !== null
  if (names.length > 0 && !(isObject && names.some((name) => name in options)))
    throw refusePart('', `${call} takes an object with ${names.join(' and ')}`)
  checkNames(options, ['prepared', ...names, ...others])
  if (options.prepared !== undefined) checkFlag(options.prepared, 'prepared')
  const given = options as Readonly<Record<string, unknown>>
  for (const [name, part] of Object.entries(parts)) checkPart(given[name], name, part, call)
}

/** Refuses what is no such part of a driver. */
export function checkPart(given: unknown, name: string, { is, what }: DriverPart, call: string): void {
  if (!is(given)) throw refusePart(name, `must be ${what}; write ${call}`)
}

const refusePart = (field: string, message: string): OutlayError =>
  OutlayError.fromIssues([{ field, code: 'invalid_request', message }])

/** True for an object or a function with methods of these names. */
export const hasMethods = (given: unknown, ...names: readonly string[]): boolean =>
  names.every((name) => typeof (given as Readonly<Record<string, unknown>> | null | undefined)?.[name] === 'function')

/** An instance of postgres.js, which is a function. A transaction of it has no options. */
export const isPostgresJs = (given: unknown): boolean =>
  typeof given === 'function' &&
  hasMethods(given, 'begin', 'unsafe') &&
  (given as { readonly options?: { readonly transform?: unknown } }).options?.transform !== undefined

/** A pool of node-postgres. A client has no options. */
export const poolPart: DriverPart = {
  is: (given) =>
    hasMethods(given, 'connect', 'on') && typeof (given as { readonly options?: unknown }).options === 'object',
  what: 'a pool of node-postgres, such as new pg.Pool({ connectionString })',
}

/** Drizzle over a pool. */
export const drizzleOver = (library: string, entry: string): DriverPart => ({
  is: (given) => hasMethods(given, 'transaction') && poolPart.is((given as { readonly $client?: unknown }).$client),
  what: `Drizzle over the pool of ${library}, such as drizzle({ client: pool }) of ${entry}`,
})
