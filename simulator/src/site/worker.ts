import type { Exchange } from '@outlay/judge'
import {
  type FaultProxy,
  type Postgres,
  spawnNode,
  startFaultProxy,
  startTcpProxy,
  type TcpProxy,
} from '@outlay/testing'
import { startRecordingProxy } from '../recording/index.ts'
import { type Settings, toEnvironment, type WorkerSettings } from './settings.ts'
import { keepStanding, type StandingProgram } from './standing-program.ts'

/** A worker process with network connections of its own, which can be cut. */
export interface Worker {
  readonly program: StandingProgram
  /** Between it and Postgres. */
  readonly toPostgres: TcpProxy
  /** Between it and the service. */
  readonly toService: FaultProxy
  stop(): Promise<void>
}

/** What a worker is connected to. */
export interface WorkerContext extends Settings {
  readonly postgres: Pick<Postgres, 'host' | 'port'>
  readonly serviceUrl: string
  readonly onCollapse: (what: string) => void
  /** Receives every exchange with the service, as the worker sees it. */
  readonly onExchange: (exchange: Exchange) => void
  /** Receives the idempotency key of each payout that leaves. */
  readonly onKey: (key: string) => void
}

/** Starts a worker process. */
export async function startWorker(name: string, around: WorkerContext): Promise<Worker> {
  const { postgres, databaseUrl, serviceUrl, customers, onCollapse, onExchange, onKey } = around
  const toPostgres = await startTcpProxy({ host: postgres.host, port: postgres.port })
  const toService = await startFaultProxy({ target: serviceUrl })
  watchKeys(toService, onKey)
  const recorder = await startRecordingProxy(toService.url, onExchange)
  const url = new URL(databaseUrl)
  url.hostname = toPostgres.host
  url.port = String(toPostgres.port)
  url.searchParams.set('application_name', name)
  const settings: WorkerSettings = { databaseUrl: url.toString(), serviceUrl: recorder.url, customers }
  const program = await keepStanding({
    name,
    start: () =>
      spawnNode(new URL('worker-main.ts', import.meta.url), { env: toEnvironment(settings), readyTimeoutMs: 60_000 }),
    onCollapse,
  })
  return {
    program,
    toPostgres,
    toService,
    async stop() {
      await program.stop()
      await recorder.stop()
      await toService.stop()
      await toPostgres.stop()
    },
  }
}

/** A rule that befalls nobody, and so sees every request. */
function watchKeys({ faults }: FaultProxy, onKey: (key: string) => void): void {
  faults.add({
    method: 'POST',
    path: /transfers$/,
    where: ({ headers }) => {
      onKey(String(headers['idempotency-key']))
      return false
    },
    fault: { kind: 'delay_request', ms: 0 },
  })
}
