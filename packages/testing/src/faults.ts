import type { IncomingHttpHeaders } from 'node:http'
import type { Random } from '@outlay/core'
import { waitUntil } from './harness.ts'

/** The request that a rule checks. */
export interface ProxiedRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** Which requests. Every given member must match; none matches every request. */
export interface RequestMatch {
  readonly method?: string | undefined
  /** The whole path without the query, a pattern, or a predicate. */
  readonly path?: string | RegExp | ((path: string) => boolean) | undefined
  readonly where?: ((request: ProxiedRequest) => boolean) | undefined
}

/** Body of an answer that the proxy makes instead of the target. */
export interface Page {
  readonly contentType: string
  readonly body: string
}

/**
 * A fault.
 *
 * - `drop_request`: the connection is reset before the target sees anything
 * - `refuse`: an answer without the target seeing anything; status 429 unless given. `page` is its body, for example that of
 *   a proxy, instead of a problem document without a code
 * - `drop_response`: the target acts, then the connection is reset
 * - `reset_body`: the target acts; the connection is reset after half of the answer's body, or after `bytes` of it
 * - `fail_after`: the target acts, but the client receives `status`, 500 unless given, with `page` if that is given
 * - `delay_request`, `delay_response`: everything succeeds, `ms` milliseconds later
 */
export type Fault =
  | { readonly kind: 'drop_request' }
  | { readonly kind: 'refuse'; readonly status?: number; readonly retryAfterSeconds?: number; readonly page?: Page }
  | { readonly kind: 'drop_response' }
  | { readonly kind: 'reset_body'; readonly bytes?: number }
  | { readonly kind: 'fail_after'; readonly status?: number; readonly page?: Page }
  | { readonly kind: 'delay_request'; readonly ms: number }
  | { readonly kind: 'delay_response'; readonly ms: number }

/** A fault that ends the exchange instead of delaying it. */
export type FinalFault = Exclude<Fault, { readonly kind: 'delay_request' | 'delay_response' }>

/** A fault and the requests that it affects. */
export interface FaultRule extends RequestMatch {
  readonly fault: Fault
  /** Only the n-th matching request, counted from 1. */
  readonly nth?: number | undefined
  /** Maximum number of times. */
  readonly times?: number | undefined
  /** Probability, 0 to 1. Default 1. */
  readonly probability?: number | undefined
}

/** An active rule. */
export interface ActiveRule {
  /** Requests that matched so far. */
  readonly matched: number
  /** Requests that it has affected so far. */
  readonly applied: number
  remove(): void
}

/** Where requests are held. */
export interface HoldOptions extends RequestMatch {
  /** `request`: before the target sees it. `response`: when the target has acted. Default `request`. */
  readonly at?: 'request' | 'response' | undefined
  /** Delivers a held request on release even if its client has disconnected, as a slow network does. Default false. */
  readonly deliverLate?: boolean | undefined
}

/** Requests that wait until a test releases them. */
export interface Hold {
  /** Requests held so far, including released ones. */
  readonly arrived: number
  /** Resolves when `count` requests have arrived. Throws after `timeoutMs`, by default 30 000. */
  waitFor(count: number, timeoutMs?: number): Promise<void>
  /** Releases them, and holds no more. */
  release(): void
}

/** The plan for one request. */
export interface Plan {
  readonly delayRequestMs: number
  readonly delayResponseMs: number
  readonly fault: FinalFault | undefined
  readonly holdRequest: readonly HoldGate[]
  readonly holdResponse: readonly HoldGate[]
}

/** One hold in a proxy. */
export interface HoldGate {
  readonly deliverLate: boolean
  /** Counts a request in and resolves on release. */
  enter(): Promise<void>
}

/** The rules and holds of a proxy. */
export interface FaultBook {
  /** Requests seen so far. */
  readonly seen: number
  add(rule: FaultRule): ActiveRule
  hold(options?: HoldOptions): Hold
  /** Removes all rules and releases all holds. */
  clear(): void
  /** Counts a request and decides its plan. Delays add up. Of the other faults, the oldest rule's applies. */
  plan(request: ProxiedRequest): Plan
}

/** Makes an empty set of faults. `random` decides about rules with a probability. */
export function createFaultBook(random: Random): FaultBook {
  const rules = new Set<{ readonly rule: FaultRule; matched: number; applied: number }>()
  const holds = new Set<{ readonly options: HoldOptions; readonly gate: HoldGate; release(): void }>()
  let seen = 0
  const draw = (request: ProxiedRequest): Fault[] => {
    const faults: Fault[] = []
    for (const entry of rules) {
      if (!isMatch(entry.rule, request)) continue
      entry.matched += 1
      const { nth, times = Number.POSITIVE_INFINITY, probability = 1, fault } = entry.rule
      if ((nth !== undefined && entry.matched !== nth) || entry.applied >= times) continue
      if (probability < 1 && random.fraction() >= probability) continue
      if (!isDelay(fault) && faults.some((other) => !isDelay(other))) continue
      entry.applied += 1
      faults.push(fault)
    }
    return faults
  }
  return {
    get seen() {
      return seen
    },
    add(rule) {
      const entry = { rule, matched: 0, applied: 0, remove: () => void rules.delete(entry) }
      rules.add(entry)
      return entry
    },
    hold(options = {}) {
      const { hold, gate } = createHold(options.deliverLate ?? false, () => holds.delete(entry))
      const entry = { options, gate, release: hold.release }
      holds.add(entry)
      return hold
    },
    clear() {
      rules.clear()
      for (const { release } of [...holds]) release()
    },
    plan(request) {
      seen += 1
      const faults = draw(request)
      const gates = (at: 'request' | 'response') =>
        [...holds]
          .filter(({ options }) => (options.at ?? 'request') === at && isMatch(options, request))
          .map(({ gate }) => gate)
      return {
        delayRequestMs: totalMs(faults, 'delay_request'),
        delayResponseMs: totalMs(faults, 'delay_response'),
        fault: faults.find((fault) => !isDelay(fault)),
        holdRequest: gates('request'),
        holdResponse: gates('response'),
      }
    },
  }
}

function createHold(deliverLate: boolean, onRelease: () => void): { hold: Hold; gate: HoldGate } {
  let arrived = 0
  let open: () => void = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const hold: Hold = {
    get arrived() {
      return arrived
    },
    waitFor: async (count, timeoutMs = 30_000) => {
      const describe = () => `${count} requests to be held; ${arrived} were`
      await waitUntil(() => arrived >= count, { timeoutMs, describe })
    },
    release: () => {
      onRelease()
      open()
    },
  }
  const enter = () => {
    arrived += 1
    return opened
  }
  return { hold, gate: { deliverLate, enter } }
}

function isMatch(match: RequestMatch, request: ProxiedRequest): boolean {
  const { method, path, where } = match
  if (method !== undefined && method.toUpperCase() !== request.method) return false
  if (typeof path === 'string' && path !== request.path) return false
  if (path instanceof RegExp && request.path.search(path) < 0) return false
  if (typeof path === 'function' && !path(request.path)) return false
  return where === undefined || where(request)
}

function isDelay(fault: Fault): fault is Exclude<Fault, FinalFault> {
  return fault.kind === 'delay_request' || fault.kind === 'delay_response'
}

function totalMs(faults: readonly Fault[], kind: 'delay_request' | 'delay_response'): number {
  return faults.reduce((total, fault) => (fault.kind === kind ? total + fault.ms : total), 0)
}
