import { pgLibrary } from '../contenders/host-library.ts'
import { type Controls, setControls } from '../contenders/limited-payouts.ts'
import { openOutlayDrain } from '../contenders/outlay-drain.ts'
import { openOutlayEnqueue } from '../contenders/outlay-enqueue.ts'
import type { Contest, Workload } from '../contest.ts'
import { type Drainer, drainContender, drainWarmUpSeconds } from '../drainer.ts'
import { type EnqueueHost, enqueueContender } from '../enqueue-host.ts'

/** Host transactions at once, and transfers that the worker has under way at once. */
const [clients, concurrency] = [16, 100]

const before = 'without what the tables have for limits'
const none = 'no policies, no limits'
const policies = 'ten policies'
const limits = 'three limits'
const both = 'ten policies, three limits'

const named = (...names: readonly string[]): readonly (readonly [string, Controls])[] =>
  names.map((name) => [
    name,
    {
      isBefore: name === before,
      hasPolicies: name === policies || name === both,
      hasLimits: name === limits || name === both,
    },
  ])

/** What policies cost the host's transaction, and limits on sums the worker. */
export const limitsWorkload: Workload = {
  name: 'limits',
  title: 'One transfer in a host transaction of its own; then one transfer of a backlog, claimed and accepted.',
  seconds: 3,
  size: 10_000,
  async open(serverUrl, size) {
    const numbers = { next: 1 }
    const hosts: EnqueueHost[] = []
    for (const [at, [name, controls]] of named(before, none, policies, both).entries()) {
      const host = await openOutlayEnqueue(serverUrl, clients, pgLibrary, `bench_limits_enqueue_${at}`)
      await setControls(host.database, controls)
      hosts.push({ ...host, name })
    }
    const drainers: Drainer[] = []
    for (const [at, [name, controls]] of named(before, none, limits).entries()) {
      const drainer = await openOutlayDrain(serverUrl, concurrency, `bench_limits_drain_${at}`)
      await setControls(drainer.database, controls)
      drainers.push({ ...drainer, name })
    }
    const enqueues: Contest = {
      name: `Enqueue, ${clients} clients`,
      contenders: hosts.map((host) => enqueueContender(host, clients, numbers)),
      ratios: [
        { of: none, to: before, aim: 0.97 },
        { of: both, to: none, aim: 0.8 },
        { of: policies, to: none },
        { of: none, to: before, figure: 'server µs', atMost: 1.03 },
        { of: both, to: none, figure: 'server µs', atMost: 1.25 },
      ],
      references: {},
      warmUpSeconds: 1,
    }
    const drains: Contest = {
      name: `Drain, ${size.toLocaleString('en')} transfers`,
      contenders: drainers.map((drainer) => drainContender(drainer, size)),
      figure: 'server µs',
      ratios: [
        { of: none, to: before, atMost: 1.03 },
        { of: limits, to: none },
        { of: limits, to: none, figure: 'per second' },
      ],
      references: {},
      warmUpSeconds: drainWarmUpSeconds,
    }
    return {
      contests: [enqueues, drains],
      close: async () => {
        for (const one of [...hosts, ...drainers]) await one.close()
      },
    }
  },
}
