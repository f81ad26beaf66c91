import { OutlayError } from '../error.ts'
import { defaultGateway } from '../gateway-account.ts'
import type { Gateway } from '../ports/gateway.ts'
import type { StoredTransfer } from '../ports/stored-transfer.ts'
import type { WebhookVerifier } from '../ports/webhooks.ts'
import type { Environment } from '../transfer-type.ts'
import type { EnqueueRequest } from './engine.ts'

/** Names the gateway of a new transfer. Pure: it is called with every enqueue, before any SQL. */
export type Route = (request: EnqueueRequest, accountId: string) => string

/**
 * Names the gateway that takes over a transfer which its own gateway has refused for good, or returns undefined for none. Pure, as {@link Route}: it
 * is called again after a restore, and has to give the same answer then.
 */
export type Failover = (failed: StoredTransfer, accountId: string) => string | undefined

/** The options of an engine that concern its gateways. */
export interface GatewayOptions {
  readonly gateway?: Gateway | undefined
  readonly gateways?: Readonly<Record<string, Gateway>> | undefined
  readonly route?: Route | undefined
  readonly failover?: Failover | undefined
  readonly webhooks?: WebhookVerifier | Readonly<Record<string, WebhookVerifier>> | undefined
}

/** The gateways of one engine, by name. */
export interface Gateways {
  readonly names: readonly string[]
  readonly all: readonly Gateway[]
  /** The environment that they declare, if one of them does. */
  readonly environment: Environment | undefined
  find(name: string): Gateway | undefined
  /** The name that a caller gives, or the only one. Throws OutlayError `invalid_request` with the field `gateway`. */
  choose(name: unknown, prefix?: string): string
  /** The gateway of a name that is known, such as that of a lease. Throws Error for any other one: nothing is sent elsewhere. */
  demand(name: string): Gateway
}

const namePattern = /^[a-z0-9][a-z0-9_.-]{0,62}$/

/**
 * Reads the gateways of an engine.
 * @throws OutlayError `invalid_request` with the field; `environment_mismatch` for gateways of different environments
 */
export function readGateways(options: GatewayOptions): Gateways {
  const { gateway, gateways, route, failover } = options
  if ((gateway === undefined) === (gateways === undefined)) {
    throw refuse('gateway', 'give createEngine() a gateway, or several as gateways: { name: gateway }')
  }
  if (gateways === undefined && typeof gateway?.submit !== 'function') {
    throw refuse('gateway', 'must be a gateway, such as httpGateway() of @outlay/http-client or one of your own')
  }
  const byName = new Map(gateways === undefined ? [[defaultGateway, gateway as Gateway]] : readNamed(gateways))
  const names = [...byName.keys()]
  if (route !== undefined) {
    if (typeof route !== 'function') throw refuse('route', 'must be a function that returns the name of a gateway')
    if (gateways === undefined) throw refuse('route', 'is for an engine with several gateways; give them as gateways')
  }
  if (failover !== undefined) {
    if (typeof failover !== 'function')
      throw refuse('failover', 'must be a function that returns the name of a gateway, or undefined')
    if (names.length < 2) throw refuse('failover', 'is for an engine with several gateways; give them as gateways')
  }
  if (names.length > 1 && route === undefined) {
    throw refuse('route', `must be a function that names the gateway of a transfer; there are ${names.join(', ')}`)
  }
  return {
    names,
    all: [...byName.values()],
    environment: commonEnvironment(byName),
    find: (name) => byName.get(name),
    choose(name, prefix = '') {
      if (typeof name === 'string' && byName.has(name)) return name
      const [only, other] = names
      if (name === undefined && only !== undefined && other === undefined) return only
      const got = name === undefined ? 'name the gateway' : `there is no gateway ${shown(name)}`
      throw refuse(`${prefix}gateway`, `${got}; there ${other === undefined ? 'is' : 'are'} ${names.join(', ')}`)
    },
    demand(name) {
      const found = byName.get(name)
      if (found !== undefined) return found
      throw new Error(`This engine has no gateway "${name}"; it has ${names.join(', ')}.`)
    },
  }
}

function readNamed(gateways: Readonly<Record<string, Gateway>>): [string, Gateway][] {
  if (typeof gateways !== 'object' || gateways === null)
    throw refuse('gateways', 'must be an object of gateways by name')
  const named = Object.entries(gateways)
  if (named.length === 0) throw refuse('gateways', 'must have at least one gateway')
  for (const [name, gateway] of named) {
    if (!namePattern.test(name)) {
      throw refuse('gateways', `${shown(name)} is no name of a gateway: 1 to 63 of a-z, 0-9, "_", "." and "-"`)
    }
    if (typeof gateway?.submit !== 'function') throw refuse(`gateways.${name}`, 'must be a gateway')
  }
  return named
}

function commonEnvironment(byName: ReadonlyMap<string, Gateway>): Environment | undefined {
  const declared = [...byName].filter(([, { environment }]) => environment !== undefined)
  const other = declared.find(([, { environment }]) => environment !== declared[0]?.[1].environment)
  if (other === undefined) return declared[0]?.[1].environment
  const message = `The gateways ${declared[0]?.[0]} and ${other[0]} are for different environments; give each environment an engine and a database of its own.`
  throw new OutlayError('environment_mismatch', message, { field: 'gateways' })
}

/**
 * The gateway of a new transfer, as `route` says.
 * @throws OutlayError `invalid_request` with the field `gateway` for an answer that names none, a promise, or what it throws
 */
export function routeTransfer(
  gateways: Gateways,
  route: Route | undefined,
  request: EnqueueRequest,
  prefix: string,
): string {
  if (route === undefined) return gateways.choose(undefined, prefix)
  const field = `${prefix}gateway`
  let answer: unknown
  try {
    answer = route(request, request.accountId)
  } catch (cause) {
    throw new OutlayError('invalid_request', `${field}: route threw instead of naming a gateway`, { field, cause })
  }
  if (typeof answer === 'string' && gateways.find(answer) !== undefined) return answer
  throw refuse(field, `route returned ${describeAnswer(answer)}; it names one of ${gateways.names.join(', ')}`)
}

/**
 * The gateway that takes over a refused transfer, as `failover` says; undefined where it names none.
 * @throws Error for an answer that is no gateway's name, a promise, or what it throws
 */
export function askFailover(
  gateways: Pick<Gateways, 'find' | 'names'>,
  failover: Failover,
  failed: StoredTransfer,
): string | undefined {
  let answer: unknown
  try {
    answer = failover(failed, failed.accountId)
  } catch (cause) {
    throw new Error('failover threw instead of naming a gateway.', { cause })
  }
  if (answer === undefined) return undefined
  if (typeof answer === 'string' && gateways.find(answer) !== undefined) return answer
  throw new Error(`failover returned ${describeAnswer(answer)}; it names one of ${gateways.names.join(', ')}, or none.`)
}

function describeAnswer(answer: unknown): string {
  if (answer instanceof Error) return `an error (${answer.name})`
  if (typeof (answer as PromiseLike<unknown> | null | undefined)?.then === 'function') {
    // Nobody waits for it.
    Promise.resolve(answer).catch(() => undefined)
    return 'a promise'
  }
  return shown(answer)
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? `"${value.slice(0, 100)}"` : String(typeof value)

const refuse = (field: string, message: string) => OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
