import { type Driver, inspect, postgres } from '@outlay/adapters-pg'
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type Gateway,
  type Logger,
  type StoredTransfer,
  type WorkOptions,
} from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { assertMatches, type EnqueuedMatch, matchEnqueued } from './enqueued.ts'

/** What a host brings to its own test. */
export interface HostOptions<Tx> {
  /** The way into the host's test database, as the host itself uses it. The engine's schema is migrated there. */
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
  /**
   * The host's own way to make its engine, with its subscriptions; it must use the options that it is given. Default:
   * `createEngine` of core, without subscriptions.
   */
  readonly createEngine?: ((options: EngineOptions<Tx>) => Engine<Tx>) | undefined
  /** How the workers behave. Default: those of core, looking for work every 50 ms. */
  readonly work?: WorkOptions | undefined
  /** False leaves the workers stopped: what is enqueued stays queued until `engine.start()`. Default true. */
  readonly start?: boolean | undefined
  /** Default: says nothing. */
  readonly logger?: Logger | undefined
}

/** The host's side of a test. */
export interface HostSide<Tx> extends AsyncDisposable {
  readonly engine: Engine<Tx>
  /** Runs `work` in a transaction of the host's own type. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Committed transfers that fit, oldest first, as plain data. */
  enqueued(match?: EnqueuedMatch): Promise<readonly StoredTransfer[]>
  /**
   * The one committed transfer that fits.
   * @throws AssertionError of Node, with what the nearest ones have instead, when there is none, or more than one.
   */
  assertEnqueued(match: EnqueuedMatch): Promise<StoredTransfer>
  /** Throws like {@link HostSide.assertEnqueued} unless exactly `count` committed transfers fit. */
  assertEnqueuedCount(match: EnqueuedMatch, count: number): Promise<readonly StoredTransfer[]>
  /** Asks the service about every submitted transfer now, rather than at the pace of its rail. */
  look(): Promise<void>
  /** Waits until the service has the transfer for certain, and returns it. Throws after 30 s. */
  submitted(transfer: string | { readonly id: string }): Promise<StoredTransfer>
  /** Ends everything that the harness has started, and drops what it has made. Safe to call twice. */
  stop(): Promise<void>
}

/** The host's side without its end. */
export type OpenedHost<Tx> = Omit<HostSide<Tx>, 'stop' | typeof Symbol.asyncDispose>

/** Backoffs are a twentieth of their longest, so that a test of trouble does not wait. */
const jitter = 0.05

/** Migrates, makes the engine and starts it. */
export async function openHost<Tx>(options: HostOptions<Tx>, gateway: Gateway): Promise<OpenedHost<Tx>> {
  const { driver, schema, logger } = options
  const backend = postgres({ driver, schema, logger })
  const engine = (options.createEngine ?? createEngine)({
    backend,
    gateway,
    runtime: { random: { ...backend.runtime.random, fraction: () => jitter } },
    follow: { maxDelayMs: 200 },
  })
  await engine.migrate()
  if (options.start !== false) await engine.start({ pollIntervalMs: 50, ...options.work })
  const inspection = inspect({ driver, schema })

  const list = async (): Promise<readonly StoredTransfer[]> => {
    const summaries = await inspection.transfers({ limit: 100_000 })
    const found = await Promise.all(summaries.toReversed().map(({ id }) => engine.transfers.get(id)))
    return found.filter((transfer) => transfer !== undefined)
  }
  return {
    engine,
    transaction: (work) => driver.transaction(work),
    enqueued: async (match = {}) => matchEnqueued(await list(), match),
    assertEnqueued: async (match) => only(assertMatches(await list(), match, 1)),
    assertEnqueuedCount: async (match, count) => assertMatches(await list(), match, count),
    async look() {
      const { signal } = new AbortController()
      for (const { accountId, remoteId } of await inspection.transfers({ stage: 'submitted', limit: 100_000 })) {
        if (remoteId === null) continue
        // What cannot be read now, because a test wants it so, the engine reads later.
        const seen = await gateway.get(accountId, remoteId, { signal }).catch(() => undefined)
        if (seen !== undefined) await driver.transaction((tx) => engine.transfers.observe(tx, accountId, [seen]))
      }
    },
    async submitted(transfer) {
      const id = typeof transfer === 'string' ? transfer : transfer.id
      let last: StoredTransfer | undefined
      return waitUntil(
        async () => {
          last = await engine.transfers.get(id)
          return last?.remoteId === null ? undefined : last
        },
        { timeoutMs: 60_000, describe: () => `the service to have ${id}; it is ${JSON.stringify(last)}` },
      )
    },
  }
}

function only(transfers: readonly StoredTransfer[]): StoredTransfer {
  const [transfer] = transfers
  if (transfer === undefined) throw new Error('There is no transfer.')
  return transfer
}
