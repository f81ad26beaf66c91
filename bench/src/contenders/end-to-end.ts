import type { Engine } from '@outlay/core'
import { httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { PoolClient } from 'pg'
import { PgBoss, type WorkOptions } from 'pg-boss'
import type { Database } from '../database.ts'
import { openDatabase } from '../database.ts'
import { createHostTable } from '../enqueue-host.ts'
import { exchange, type HttpContender, type HttpRequest } from './http-contender.ts'
import { openOutlayStage } from './outlay-stage.ts'
import type { ServiceStage } from './service-stage.ts'

/** A host whose transactions end as transfers at a service over HTTP. */
export interface EndToEndHost {
  readonly name: string
  readonly database: Database
  /** The service that this host calls; no other host calls it. */
  readonly service: HttpContender
  /** Writes what the worker sends, in the host's transaction. */
  send(client: PoolClient, n: number): Promise<unknown>
  start(): Promise<void>
  /** Waits until requests in flight have ended. */
  stop(): Promise<void>
  /** Called at each answer of the service to a create. */
  onAnswer: () => void
  /** The number sent, according to the host's database. */
  countSent(): Promise<number>
  close(): Promise<void>
}

const connections = 40
const queue = 'transfer'

/** Outlay with its gateway over HTTP. */
export async function openOutlayEndToEnd(
  serverUrl: string,
  service: HttpContender,
  stage: ServiceStage,
  inFlight: number,
): Promise<EndToEndHost> {
  const outlay = await openOutlayStage(serverUrl, 'bench_ends_outlay', connections)
  const { database } = outlay
  await createHostTable(database.admin)
  let running: Engine<PoolClient> | undefined
  const host: EndToEndHost = {
    name: 'outlay',
    database,
    service,
    onAnswer: () => undefined,
    send: (client, n) => outlay.sender.transfers.enqueue(client, stage.payout(n)),
    async start() {
      const gateway = httpGateway({
        keyLifetimeMs: outlayKeyLifetimeMs,
        baseUrl: service.url,
        credentials: stage.credentials,
        maxConcurrent: inFlight,
      })
      const submit: typeof gateway.submit = async (submission, options) => {
        const answer = await gateway.submit(submission, options)
        host.onAnswer()
        return answer
      }
      running = outlay.makeEngine({ ...gateway, submit })
      await running.start({ concurrency: inFlight })
    },
    stop: async () => running?.stop(),
    countSent: () => database.count('select count(*) from outlay.transfer where remote_id is not null'),
    close: () => outlay.close(),
  }
  return host
}

/** pg-boss's documented worker: `work()` with a handler that makes the request. */
export async function openPgBossEndToEnd(
  serverUrl: string,
  service: HttpContender,
  stage: ServiceStage,
  shape: { readonly name: string; readonly options: WorkOptions },
): Promise<EndToEndHost> {
  const database = await openDatabase(serverUrl, `bench_ends_${shape.name.replaceAll(/\W+/g, '_')}`, connections)
  await createHostTable(database.admin)
  const makeBoss = async () => {
    const boss = new PgBoss({
      db: { executeSql: (text, values) => database.pool.query(text, values) },
      schema: 'boss',
      schedule: false,
    })
    boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
    await boss.start()
    return boss
  }
  const sender = await makeBoss()
  await sender.createQueue(queue, { policy: 'standard', partition: true })
  await sender.getQueue(queue)
  let running: PgBoss | undefined
  const host: EndToEndHost = {
    name: shape.name,
    database,
    service,
    onAnswer: () => undefined,
    async send(client, n) {
      const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values ?? []) }
      if ((await sender.send(queue, stage.create(n), { db })) === null) throw new Error('boss.send sent nothing.')
    },
    async start() {
      running = await makeBoss()
      await running.work<HttpRequest>(queue, shape.options, async (jobs) => {
        await Promise.all(
          jobs.map(async (job) => {
            await exchange(service.connections, job.data, 201)
            host.onAnswer()
          }),
        )
      })
    },
    stop: async () => running?.stop({ graceful: true, timeout: 30_000, close: false }),
    countSent: () => database.count(`select count(*) from boss.job where state = 'completed' and retry_count = 0`),
    close: async () => {
      await sender.stop({ graceful: false, close: false })
      await database.close()
    },
  }
  return host
}

/** The limit: the host's row and the request, with nothing written that would send it again after a crash. */
export async function openRequestAlone(
  serverUrl: string,
  service: HttpContender,
  stage: ServiceStage,
): Promise<EndToEndHost> {
  const database = await openDatabase(serverUrl, 'bench_ends_request_alone', connections)
  await createHostTable(database.admin)
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  let sent = 0
  const host: EndToEndHost = {
    name: 'request alone',
    database,
    service,
    onAnswer: () => undefined,
    async send(_client, n) {
      const request = exchange(service.connections, stage.create(n), 201)
        .then(() => {
          sent += 1
          host.onAnswer()
        })
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(request))
      underWay.add(request)
    },
    start: async () => undefined,
    async stop() {
      await Promise.all(underWay)
      if (failures.length > 0) throw new AggregateError(failures, 'Requests failed.')
    },
    countSent: async () => sent,
    close: () => database.close(),
  }
  return host
}
