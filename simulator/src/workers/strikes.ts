import type { FaultProxy, FaultRule, ProxiedRequest } from '@outlay/testing'
import type { Environment } from '../environment/environment.ts'
import type { Order } from '../order/order.ts'
import type { RunContext } from './run-context.ts'
import { aboutOf } from './turns.ts'

/** What a request is about: its way with the tenant by its number, and payouts. */
function nameOf({ numbers, tenants }: Pick<RunContext, 'numbers' | 'tenants'>, request: ProxiedRequest): string {
  const key = request.headers['idempotency-key']
  const sent = typeof key === 'string' ? numbers.get(key) : undefined
  const payouts = sent === undefined ? aboutOf({ numbers }, request.path) : [sent]
  const path = request.path.replaceAll(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g, (id) =>
    String(tenants.findIndex(({ accountId }) => accountId === id)),
  )
  return `${request.method} ${path} of ${payouts}`
}

/** A network whose faults befall the same requests as in an earlier run, in an environment whose time goes on between statements. */
export function inOrder(
  environment: Environment,
  around: Pick<RunContext, 'numbers' | 'tenants'>,
  order: Order,
): Environment {
  const seen = new WeakMap<ProxiedRequest, string>()
  const struck = new WeakSet<ProxiedRequest>()
  const counts = new Map<string, number>()
  const { faults } = environment.proxy
  /** Counts every request, whatever rules there are. */
  const identify = (request: ProxiedRequest) => {
    const name = nameOf(around, request)
    const nth = (counts.get(name) ?? 0) + 1
    counts.set(name, nth)
    seen.set(request, `${name}, request ${nth}`)
    return false
  }
  const add = ({ times, ...rule }: FaultRule) => {
    if (times === undefined) return faults.add(rule)
    let left = times
    const where = (request: ProxiedRequest) => {
      // Of several faults that end a request the oldest one counts.
      if (struck.has(request) || rule.where?.(request) === false) return false
      const befalls = order.befalls(`${JSON.stringify(rule.fault)} befalls ${seen.get(request)}`, () => left > 0)
      if (!befalls) return false
      left -= 1
      if (!rule.fault.kind.startsWith('delay')) struck.add(request)
      return true
    }
    return faults.add({ ...rule, where })
  }
  const watch = () => void faults.add({ fault: { kind: 'delay_request', ms: 0 }, where: identify })
  watch()
  const clear = () => {
    faults.clear()
    watch()
  }
  const proxy: FaultProxy = Object.assign(Object.create(environment.proxy), { faults: { ...faults, add, clear } })
  return {
    ...environment,
    proxy,
    travel: (seconds) => order.pass('plan', 'time', [], () => order.gate.alone(() => environment.travel(seconds))),
  }
}
