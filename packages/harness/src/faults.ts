import type { ActiveRule, FaultProxy, FaultRule, Hold, HoldOptions, RequestMatch } from '@outlay/testing'

/** Which requests, and how often. Default: creates of transfers, once. */
export interface FaultScope extends RequestMatch {
  /** At most this many times. Default 1. */
  readonly times?: number | undefined
}

/** Faults between the engine and the service. */
export interface Faults {
  /** The service acts, and its answer is lost. */
  dropAnswer(scope?: FaultScope): ActiveRule
  /** The request is lost before the service sees it. */
  dropRequest(scope?: FaultScope): ActiveRule
  /** The service acts, and the engine receives a server error; `status` 500 unless given. */
  failAfterCommit(scope?: FaultScope & { readonly status?: number }): ActiveRule
  /**
   * The request is refused before the service sees it; `status` 429 unless given, with `Retry-After` when `retryAfterSeconds`
   * is.
   */
  refuse(scope?: FaultScope & { readonly status?: number; readonly retryAfterSeconds?: number }): ActiveRule
  /** Requests wait until they are released: before the service sees them, or with `at: 'response'` after it acted. */
  hold(options?: HoldOptions): Hold
  /** Cuts the network, and restores it. */
  cut(): void
  heal(): void
  /** Any other rule of the proxy. */
  add(rule: FaultRule): ActiveRule
  /** Removes all rules and releases requests that wait. */
  clear(): void
}

const creates: RequestMatch = { method: 'POST', path: /transfers$/ }

/** Creates the faults of a proxy between an engine and its service. */
export function createFaults(proxy: FaultProxy): Faults {
  const { faults } = proxy
  const add = (scope: FaultScope, fault: FaultRule['fault']) => {
    const { method, path, where, times = 1 } = scope
    const given = method === undefined && path === undefined && where === undefined
    return faults.add({ ...(given ? creates : { method, path, where }), times, fault })
  }
  return {
    dropAnswer: (scope = {}) => add(scope, { kind: 'drop_response' }),
    dropRequest: (scope = {}) => add(scope, { kind: 'drop_request' }),
    failAfterCommit: ({ status = 500, ...scope } = {}) => add(scope, { kind: 'fail_after', status }),
    refuse: ({ status = 429, retryAfterSeconds, ...scope } = {}) =>
      add(scope, { kind: 'refuse', status, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) }),
    hold: (options) => faults.hold(options === undefined ? creates : options),
    cut: () => proxy.cut(),
    heal: () => proxy.heal(),
    add: (rule) => faults.add(rule),
    clear: () => faults.clear(),
  }
}
