import type { Backend, Runtime, WorkOptions } from '@outlay/core'
import type { Subscription, WorkHandlers } from '@outlay/core/adapter'
import { manualClock, seededRandom, silentLogger } from '@outlay/testing'

/** A transaction of the host in these tests. */
export interface Tx {
  readonly number: number
}

/** A backend that only starts and stops workers, and what it was asked for. */
export interface MemoryBackend extends Backend<Tx> {
  /** What happened, in order: `started` and `stopped`. */
  readonly log: string[]
  readonly work: Backend<Tx>['work']
  /** What the workers were started with; undefined while they never were. */
  started(): { readonly subscriptions: readonly Subscription<Tx>[]; readonly options: WorkOptions } | undefined
  subscription(name: string): Subscription<Tx>
}

/** Makes such a backend. */
export function memoryBackend({
  check = async () => undefined,
  stop = async () => undefined,
}: {
  readonly check?: () => Promise<void>
  readonly stop?: () => Promise<void>
} = {}): MemoryBackend {
  const log: string[] = []
  let started: ReturnType<MemoryBackend['started']>
  const runtime: Runtime = {
    clock: manualClock(),
    random: seededRandom(1),
    timer: { after: () => () => undefined },
    logger: silentLogger,
  }
  const backend: Pick<MemoryBackend, 'log' | 'runtime' | 'check' | 'work' | 'started' | 'subscription' | 'receive'> = {
    log,
    runtime,
    check,
    receive: async () => 1,
    async work({ subscriptions }: WorkHandlers<Tx>, options: WorkOptions) {
      started = { subscriptions, options }
      log.push('started')
      return {
        async stop() {
          await stop()
          log.push('stopped')
        },
      }
    },
    started: () => started,
    subscription(name) {
      const found = started?.subscriptions.find((one) => one.name === name)
      if (found === undefined) throw new Error(`There is no subscription ${name}.`)
      return found
    },
  }
  return backend as MemoryBackend
}
