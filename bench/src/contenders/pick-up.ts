import { Logger, run } from 'graphile-worker'
import { Client, type PoolClient } from 'pg'
import { type Database, openDatabase } from '../database.ts'
import { createHostTable } from '../enqueue-host.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { acceptingGateway, numberOf, numberOfSubmission, openOutlayStage } from './outlay-stage.ts'
import { countJobs } from './queue.ts'

/** A way to notify a worker of a host's commit. */
export interface Messenger {
  readonly name: string
  readonly database: Database
  /** Starts the worker; `onArrival` is called with the number of each message, once. */
  start(onArrival: (n: number) => void): Promise<void>
  /** Writes the message to the worker, in the host's transaction. */
  send(client: PoolClient, n: number): Promise<unknown>
  /** Messages that are not done yet. */
  countOpen(): Promise<number>
  stop(): Promise<void>
  close(): Promise<void>
}

const connections = 40

/** Outlay: from the commit of an enqueue to the call of the gateway. */
export async function openOutlayMessenger(serverUrl: string, name = 'outlay'): Promise<Messenger> {
  const stage = await openOutlayStage(serverUrl, `bench_messenger_${name.replaceAll(/\W+/g, '_')}`, connections)
  const { database, sender } = stage
  await createHostTable(database.admin)
  let onSubmit: (n: number) => void = () => undefined
  const makeEngine = () => stage.makeEngine(acceptingGateway((submission) => onSubmit(numberOfSubmission(submission))))
  let running = makeEngine()
  return {
    name,
    database,
    async start(onArrival) {
      onSubmit = onArrival
      running = makeEngine()
      await running.start()
    },
    send: (client, n) => sender.transfers.enqueue(client, sampleTransfer(n)),
    countOpen: () => countJobs(database),
    async stop() {
      await running.stop()
      await stage.countSubmitted()
    },
    close: () => stage.close(),
  }
}

/** The limit: a notification with the number, received by a listening connection. */
export async function openPing(serverUrl: string): Promise<Messenger> {
  const database = await openDatabase(serverUrl, 'bench_messenger_ping', connections)
  await createHostTable(database.admin)
  let listener = new Client({ connectionString: database.url })
  return {
    name: 'LISTEN/NOTIFY ping',
    database,
    async start(onArrival) {
      listener = new Client({ connectionString: database.url })
      await listener.connect()
      listener.on('notification', ({ payload }) => onArrival(Number(payload)))
      await listener.query('listen ping')
    },
    send: (client, n) => client.query({ name: 'ping', text: `select pg_notify('ping', $1)`, values: [String(n)] }),
    countOpen: () => Promise.resolve(0),
    stop: () => listener.end(),
    close: () => database.close(),
  }
}

/** graphile-worker: from the commit of an `add_job` to the call of its task. */
export async function openGraphileMessenger(serverUrl: string): Promise<Messenger> {
  const database = await openDatabase(serverUrl, 'bench_messenger_graphile', connections)
  await createHostTable(database.admin)
  const start = (onArrival: (n: number) => void) =>
    run({
      pgPool: database.pool,
      concurrency: 20,
      noHandleSignals: true,
      taskList: { transfer: (payload) => onArrival(numberOf((payload as { idempotencyKey: string }).idempotencyKey)) },
      logger: new Logger(() => () => undefined),
    })
  let stop = () => Promise.resolve()
  return {
    name: 'graphile-worker',
    database,
    async start(onArrival) {
      const runner = await start(onArrival)
      stop = () => runner.stop()
    },
    send: (client, n) =>
      client.query({
        name: 'add_job',
        text: `select id from graphile_worker.add_job('transfer', $1::json)`,
        values: [JSON.stringify(sampleTransfer(n))],
      }),
    countOpen: () => database.count('select count(*) from graphile_worker._private_jobs'),
    stop: () => stop(),
    close: () => database.close(),
  }
}
