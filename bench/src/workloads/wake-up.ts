import { openWakeUpHost } from '../contenders/wake-up-enqueue.ts'
import type { Workload } from '../contest.ts'
import { type EnqueueHost, enqueueContender } from '../enqueue-host.ts'

/** Host transactions at once. */
const clients = 32

/** The cost of waking workers to writers. */
export const wakeUp: Workload = {
  name: 'wake-up',
  title: `One host transaction of ${clients} at once, as in enqueue, while four connections listen for wake-ups.`,
  seconds: 3,
  async open(serverUrl) {
    const hosts: readonly EnqueueHost[] = [
      await openWakeUpHost(serverUrl, clients, 'debounced'),
      await openWakeUpHost(serverUrl, clients, 'none'),
      await openWakeUpHost(serverUrl, clients, 'each'),
    ]
    const numbers = { next: 1 }
    return {
      contests: [
        {
          name: `wake-up, ${clients} clients`,
          contenders: hosts.map((host) => enqueueContender(host, clients, numbers)),
          ratios: [
            { of: 'outlay', to: 'no wake-up', aim: 0.97 },
            { of: 'a wake-up at every commit', to: 'no wake-up' },
          ],
          references: {},
          warmUpSeconds: 1,
        },
      ],
      close: async () => {
        for (const host of hosts) await host.close()
      },
    }
  },
}
