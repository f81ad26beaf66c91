import { type HttpContender, openHttpContender } from '../contenders/http-contender.ts'
import { openServiceStage, pageSize, type ServiceStage } from '../contenders/service-stage.ts'
import type { Contest, Workload } from '../contest.ts'
import { clients, createContender, type Reading, readingContender } from './service-requests.ts'

const names = { service: 'service', engineOff: 'service, engine off', bare: 'bare handler' } as const

/** The project's aims, as shares of the bare handler's rate. With the engine, a create counts once its payout is complete. */
const aims = { get: 0.75, list: 0.6, replay: 0.7, create: 0.25, createAlone: 0.4 } as const

/** The service over HTTP beside a handler that runs one statement. */
export const service: Workload = {
  name: 'service',
  title: `One request over HTTP on loopback, ${clients} connections.`,
  seconds: 3,
  async open(serverUrl) {
    const stage = await openServiceStage(serverUrl, { template: 'bench_service', accountCount: 20, transfersEach: 30 })
    const common = { template: stage.template, encryptionKey: stage.encryptionKey, connections: clients }
    const start = (name: string, kind: HttpContender['kind'], hasEngine: boolean) =>
      openHttpContender(serverUrl, { name, kind, hasEngine, ...common })
    const whole = await start(names.service, 'service', true)
    const engineOff = await start(names.engineOff, 'service', false)
    const bare = await start(names.bare, 'bare', false)
    const numbers = { next: stage.transferIds.length }
    return {
      contests: [
        // First what reads: the databases are still equal.
        readContest('get one', [whole, bare], getOne(stage), aims.get),
        readContest(`list a page of ${pageSize}`, [whole, bare], listPage(stage), aims.list),
        readContest('replay of a create', [whole, bare], replay(stage), aims.replay),
        contest(
          'create',
          [whole, engineOff, bare].map((http) => createContender(http, stage, numbers)),
          { [names.service]: aims.create, [names.engineOff]: aims.createAlone },
        ),
      ],
      close: async () => {
        for (const http of [whole, engineOff, bare]) await http.close()
        await stage.close()
      },
    }
  },
}

function readContest(name: string, contenders: readonly HttpContender[], reading: Reading, aim: number): Contest {
  return contest(
    name,
    contenders.map((http) => readingContender(http, reading)),
    { [names.service]: aim },
  )
}

function contest(name: string, contenders: Contest['contenders'], aimOf: Readonly<Record<string, number>>): Contest {
  const ratios = contenders
    .filter((contender) => contender.name !== names.bare)
    .map((contender) => ({
      of: contender.name,
      to: names.bare,
      aim: aimOf[contender.name],
    }))
  return { name, contenders, ratios, references: {}, warmUpSeconds: 2 }
}

function getOne(stage: ServiceStage): Reading {
  const count = stage.transferIds.length
  return { request: stage.get, status: 200, count, ids: (n) => stage.transferIds.slice(n, n + 1) }
}

function listPage(stage: ServiceStage): Reading {
  return { request: stage.list, status: 200, count: stage.accountCount, ids: stage.pageOf }
}

/** The bare handler answers under a path of its own, for it creates nothing. */
function replay(stage: ServiceStage): Reading {
  return {
    request: (n, { kind }) => {
      const sent = stage.create(n)
      return kind === 'bare' ? { ...sent, path: `/replays/${stage.clientId}` } : sent
    },
    status: 201,
    count: stage.transferIds.length,
    ids: (n) => stage.transferIds.slice(n, n + 1),
  }
}
