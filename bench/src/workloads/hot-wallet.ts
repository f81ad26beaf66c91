import { openIdleService } from '../contenders/http-contender.ts'
import { openServiceStage } from '../contenders/service-stage.ts'
import type { Workload } from '../contest.ts'
import { createContender } from './service-requests.ts'

/** Clients that create transfers at once. */
const clients = 32

const wallets = 100

const names = { one: 'one wallet', many: `${wallets} wallets` } as const

/** All transfers out of one wallet. */
export const hotWallet: Workload = {
  name: 'hot-wallet',
  title: `One transfer created over HTTP by ${clients} clients, all from one wallet or from ${wallets} in turn; nothing submits them.`,
  seconds: 3,
  async open(serverUrl) {
    const stage = await openServiceStage(serverUrl, {
      template: 'bench_wallets',
      accountCount: wallets,
      transfersEach: 1,
    })
    const start = (name: string) => openIdleService(serverUrl, stage, { name, connections: clients })
    const one = await start(names.one)
    const many = await start(names.many)
    const numbers = { next: stage.transferIds.length }
    const hot = { ...stage, create: (n: number) => stage.create(n * wallets) }
    return {
      contests: [
        {
          name: `hot wallet, ${clients} clients`,
          contenders: [createContender(one, hot, numbers, clients), createContender(many, stage, numbers, clients)],
          ratios: [{ of: names.one, to: names.many, aim: 0.6 }],
          references: {},
          warmUpSeconds: 1,
        },
      ],
      close: async () => {
        for (const http of [one, many]) await http.close()
        await stage.close()
      },
    }
  },
}
