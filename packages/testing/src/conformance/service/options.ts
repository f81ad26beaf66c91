/** Credentials of one client and an account that it may use. */
export interface ConformanceClient {
  readonly clientId: string
  readonly clientSecret: string
  readonly accountId: string
}

/** Sends one request, as the global `fetch` does. */
export type ServiceFetch = (url: string, init: RequestInit) => Promise<Response>

/** The service under test, and the credentials. */
export interface ServiceConformanceOptions extends ConformanceClient {
  /** Base address without a slash at the end. */
  readonly baseUrl: string
  /** Default: `/oauth2/token` below the base address. */
  readonly tokenUrl?: string | undefined
  /** A client that shares no account with the first. Without it, the isolation of clients is not tested. */
  readonly second?: ConformanceClient | undefined
  /** The service has the routes below `/simulations`; without them, cases that need money or time are skipped. Default false. */
  readonly simulations?: boolean | undefined
  /** Also tests the points that the specification leaves open, as this project decided them. Default true. */
  readonly settled?: boolean | undefined
  /** What the service decides for where the specification and the public contract contradict each other. Default `specification`. */
  readonly dialect?: 'specification' | 'public' | undefined
  /** Time limit for a change of status or a webhook, in milliseconds. Default 20,000. */
  readonly patienceMs?: number | undefined
  /** Sends every request of the suite; a rejection fails the case. Default: the global one. */
  readonly fetch?: ServiceFetch | undefined
}

/**
 * Reads the options from `OUTLAY_CONFORMANCE_BASE_URL`, `…_TOKEN_URL`, `…_CLIENT_ID`, `…_CLIENT_SECRET`,
 * `…_ACCOUNT_ID`, the same three with `…_SECOND_`, `…_SIMULATIONS` and `…_SETTLED`, each `true` or `false`, and `…_DIALECT`,
 * `specification` or `public`.
 *
 * @throws Error that names the first variable that is missing.
 */
export function readConformanceOptions(env: Readonly<Record<string, string | undefined>>): ServiceConformanceOptions {
  const optional = (name: string): string | undefined => env[`OUTLAY_CONFORMANCE_${name}`]
  const required = (name: string): string => {
    const value = optional(name)
    if (value === undefined || value === '') throw new Error(`Set OUTLAY_CONFORMANCE_${name}.`)
    return value
  }
  const client = (prefix: string): ConformanceClient => ({
    clientId: required(`${prefix}CLIENT_ID`),
    clientSecret: required(`${prefix}CLIENT_SECRET`),
    accountId: required(`${prefix}ACCOUNT_ID`),
  })
  return {
    baseUrl: required('BASE_URL').replace(/\/+$/, ''),
    tokenUrl: optional('TOKEN_URL'),
    ...client(''),
    second: optional('SECOND_CLIENT_ID') === undefined ? undefined : client('SECOND_'),
    simulations: optional('SIMULATIONS') === 'true',
    settled: optional('SETTLED') !== 'false',
    dialect: optional('DIALECT') === 'public' ? 'public' : 'specification',
  }
}
