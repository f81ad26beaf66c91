import { setTimeout } from 'node:timers/promises'
import { type Driver, directory, postgres, type Shards, shards } from '@outlay/adapters-pg'
import { type Backend, createEngine, type Engine, type EngineOptions, type Gateway, OutlayError } from '@outlay/core'
import type { Pool, PoolClient } from 'pg'
import type { Bug } from '../bugs/bug.ts'

type Tx = PoolClient

/** What a process of hosts calls, of one engine or of several that are one system. */
export interface HostEngine
  extends Pick<
    Engine<Tx>,
    'transfers' | 'accounts' | 'batches' | 'webhook' | 'backlog' | 'archive' | 'subscribe' | 'start' | 'stop'
  > {
  readonly policies: Pick<Engine<Tx>['policies'], 'set'>
  readonly limits: Pick<Engine<Tx>['limits'], 'set'>
}

/** The engine of a process. */
export interface OpenedEngine {
  readonly engine: HostEngine
  /** The same where it is of several databases. */
  readonly system: Shards<Tx> | undefined
  /** Runs a transaction on the database of an account; for null, of what is of no account. */
  transaction<T>(accountId: string | null, work: (tx: Tx) => Promise<T>): Promise<T>
  stop(): Promise<void>
}

/** The databases of a process by their names, and that of their directory where there are several. */
export interface EngineDatabases {
  readonly drivers: readonly [
    readonly [name: string, driver: Driver<Tx>],
    ...(readonly [name: string, driver: Driver<Tx>])[],
  ]
  readonly directory: Pool | undefined
}

/** What an engine is made of, beside its databases. */
export type EngineParts = Omit<EngineOptions<Tx>, 'backend' | 'gateway'> & { readonly gateway: Gateway }

/** Makes the engine of a process. */
export function openEngine(
  bug: Bug | undefined,
  { drivers, directory: pool }: EngineDatabases,
  { gateway, ...others }: EngineParts,
): OpenedEngine {
  const parts = others.gateways === undefined ? { ...others, gateway } : others
  if (pool !== undefined) return openSystem(bug, drivers, pool, parts)
  const [[, driver]] = drivers
  const made = createEngine<Tx>({ backend: plantInBackend(bug, postgres({ driver })), ...parts })
  const engine = bug?.engine?.(made, { gateway }) ?? made
  return {
    ...{ engine, system: undefined, transaction: (_accountId, work) => driver.transaction(work) },
    stop: () => engine.stop(),
  }
}

/** How often, and after what pause in milliseconds, a host repeats what was refused because its account moves. */
const again = { times: 40, pauseMs: 50 }

const isAboutMove = (error: unknown): boolean =>
  OutlayError.is(error, 'account_moving') || OutlayError.is(error, 'wrong_node')

function openSystem(
  bug: Bug | undefined,
  drivers: EngineDatabases['drivers'],
  pool: Pool,
  engine: Omit<EngineOptions<Tx>, 'backend'>,
): OpenedEngine {
  const made = directory({ pool })
  const route = bug?.directory?.(made, pool) ?? made
  const nodes = Object.fromEntries(drivers.map(([name, driver]) => [name, { driver }]))
  const system = shards<Tx>({ nodes, route, engine })
  const [[, first]] = drivers
  return {
    ...{ engine: system, system },
    async transaction(accountId, work) {
      if (accountId === null) return first.transaction(work)
      for (let times = 1; ; times += 1) {
        try {
          return await system.transaction(accountId, (tx) => work(tx))
        } catch (error) {
          if (times === again.times || !isAboutMove(error)) throw error
          await setTimeout(again.pauseMs)
        }
      }
    },
    async stop() {
      await system.stop()
      await made.close()
    },
  }
}

/** A backend with the mistake in it, and in what the core decides for it. */
function plantInBackend(bug: Bug | undefined, backend: Backend<Tx>): Backend<Tx> {
  const planted = bug?.backend?.(backend) ?? backend
  const change = bug?.handlers
  return change === undefined
    ? planted
    : { ...planted, work: (handlers, options) => planted.work(change(handlers), options) }
}
