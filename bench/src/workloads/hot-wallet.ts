import { setTimeout as delay } from 'node:timers/promises'
import { exchange, type HttpContender, openHttpContender, openIdleService } from '../contenders/http-contender.ts'
import { openServiceStage, type ServiceStage } from '../contenders/service-stage.ts'
import type { Contest, Workload } from '../contest.ts'
import { type Beside, createContender } from './service-requests.ts'

/** Clients that create transfers at once. */
const clients = 32

const wallets = 100

const names = { one: 'one wallet', many: `${wallets} wallets` } as const

/** All transfers out of one wallet: their creates alone, then beside the completions of those before them. */
export const hotWallet: Workload = {
  name: 'hot-wallet',
  title: `One transfer created over HTTP by ${clients} clients, all from one wallet or from ${wallets} in turn; alone, then while the transfers complete.`,
  seconds: 3,
  async open(serverUrl) {
    const stage = await openServiceStage(serverUrl, {
      template: 'bench_wallets',
      accountCount: wallets,
      transfersEach: 1,
    })
    const idle = (name: string) => openIdleService(serverUrl, stage, { name, connections: clients })
    const { template, encryptionKey } = stage
    const busy = (name: string) =>
      openHttpContender(serverUrl, {
        ...{ name, kind: 'service', hasEngine: true, template, encryptionKey },
        // One more than the clients have: the clock's.
        connections: clients + 1,
      })
    const alone = [await idle(names.one), await idle(names.many)] as const
    const completing = [await busy(`completing ${names.one}`), await busy(`completing ${names.many}`)] as const
    const numbers = { next: stage.transferIds.length }
    const beside = completions(stage)
    return {
      contests: [
        contest(`hot wallet, ${clients} clients`, alone, stage, numbers),
        contest(`hot wallet whose transfers complete, ${clients} clients`, completing, stage, numbers, beside),
      ],
      close: async () => {
        for (const http of [...alone, ...completing]) await http.close()
        await stage.close()
      },
    }
  },
}

/** The first service's creates all take one wallet, the second one's take turns between all. */
function contest(
  name: string,
  [one, many]: readonly [HttpContender, HttpContender],
  stage: ServiceStage,
  numbers: { next: number },
  beside?: Beside,
): Contest {
  const hot = { ...stage, create: (n: number) => stage.create(n * wallets) }
  return {
    name,
    contenders: [
      createContender(one, hot, numbers, clients, beside),
      createContender(many, stage, numbers, clients, beside),
    ],
    ratios: [{ of: one.name, to: many.name, aim: 0.6 }],
    references: {},
    warmUpSeconds: 1,
  }
}

/**
 * Lets the rails' time run ahead during the load, so that transfers complete while others are created. Counts those, and samples what
 * the sessions that create wait for.
 */
function completions({ advance }: ServiceStage): Beside {
  return async (load, { connections, database }) => {
    const countComplete = () => database.count(`select count(*) from outlay_service.transfer where status = 'complete'`)
    const before = await countComplete()
    const startedAt = performance.now()
    const creating = { samples: 0, locked: 0 }
    let isLoading = true
    const clock = async () => {
      for (; isLoading; await delay(250)) await exchange(connections, advance, 200)
    }
    const sampler = async () => {
      for (; isLoading; await delay(10)) {
        creating.samples += await database.count(`select count(*) ${creatingSessions}`)
        creating.locked += await database.count(`select count(*) ${creatingSessions} and wait_event_type = 'Lock'`)
      }
    }
    const running = Promise.all([clock(), sampler()])
    const stretch = await load().finally(() => {
      isLoading = false
    })
    const seconds = (performance.now() - startedAt) / 1000
    const completed = (await countComplete()) - before
    await running
    return {
      ...stretch,
      figures: {
        'complete/s': completed / seconds,
        'waiting for locks %': (100 * creating.locked) / Math.max(1, creating.samples),
      },
    }
  }
}

/** Sessions that run a create's last statement, which locks the wallet. */
const creatingSessions = `from pg_stat_activity
  where datname = current_database() and state = 'active' and query like '%transfer_hold(%' and pid <> pg_backend_pid()`
