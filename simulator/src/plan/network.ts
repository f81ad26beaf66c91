import type { Fault, FaultProxy } from '@outlay/testing'
import type { NetworkFault, NetworkTarget, Step } from './plan.ts'

const targets: Readonly<Record<NetworkTarget, { readonly method: string; readonly path: RegExp }>> = {
  creates: { method: 'POST', path: /transfers$/ },
  reads: { method: 'GET', path: /transfers/ },
  tokens: { method: 'POST', path: /oauth2\/token$/ },
  registrations: { method: 'POST', path: /addresses\/external$/ },
}

const faults: Readonly<Record<NetworkFault, Fault>> = {
  drop_request: { kind: 'drop_request' },
  drop_response: { kind: 'drop_response' },
  fail_after: { kind: 'fail_after' },
  reset_body: { kind: 'reset_body' },
  busy: { kind: 'refuse', status: 429, retryAfterSeconds: 1 },
  unauthorized: { kind: 'refuse', status: 401 },
  slow: { kind: 'delay_response', ms: 300 },
}

/** Lets the next so many requests of a kind go wrong. */
export function breakNetwork(proxy: FaultProxy, step: Extract<Step, { readonly do: 'network' }>): string {
  proxy.faults.add({ ...targets[step.on], fault: faults[step.fault], times: step.times })
  return ''
}

const pages = {
  html: { contentType: 'text/html', body: '<html><head><title>Sorry</title></head><body><h1>Sorry</h1></body></html>' },
  empty: { contentType: 'text/plain', body: '' },
  json: { contentType: 'application/json', body: '{"message":"Something between you and us was not pleased."}' },
} as const

/** Lets a proxy answer the next so many requests of a kind with a page of its own. */
export function answerWithPages(proxy: FaultProxy, step: Extract<Step, { readonly do: 'page' }>): string {
  const { on, status, body, isAfter, times } = step
  const kind = isAfter ? 'fail_after' : 'refuse'
  proxy.faults.add({ ...targets[on], fault: { kind, status, page: pages[body] }, times })
  return ''
}
