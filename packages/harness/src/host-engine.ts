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

/** What a host gives to its own test. */
export interface HostOptions<Tx> {
  /** The driver of the host's test database, as the host itself uses it. The engine's schema is migrated there. */
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
  /**
   * The host's own function to create its engine, with its subscriptions; it must use the options that it is given. Default:
   * `createEngine` of core, without subscriptions.
   */
  readonly createEngine?: ((options: EngineOptions<Tx>) => Engine<Tx>) | undefined
  /** Options of the workers. Default: those of core, with a poll of the queue every 50 ms. */
  readonly work?: WorkOptions | undefined
  /** False leaves the workers stopped: enqueued transfers stay queued until `engine.start()`. Default true. */
  readonly start?: boolean | undefined
  /** Default: no output. */
  readonly logger?: Logger | undefined
}

/** The host's side of a test. */
export interface HostSide<Tx> extends AsyncDisposable {
  readonly engine: Engine<Tx>
  /** Runs `work` in a transaction of the host's own type. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Committed transfers that match, oldest first, as plain data. */
  enqueued(match?: EnqueuedMatch): Promise<readonly StoredTransfer[]>
  /**
   * The one committed transfer that matches.
   * @throws AssertionError of Node, with the differences of the nearest ones, when none or more than one matches.
   */
  assertEnqueued(match: EnqueuedMatch): Promise<StoredTransfer>
  /** Throws like {@link HostSide.assertEnqueued} unless exactly `count` committed transfers match. */
  assertEnqueuedCount(match: EnqueuedMatch, count: number): Promise<readonly StoredTransfer[]>
  /** Polls every submitted transfer now, instead of at the poll interval of its rail. */
  poll(): Promise<void>
  /** Waits until the service certainly has the transfer, and returns it. Throws after 60 s. */
  submitted(transfer: string | { readonly id: string }): Promise<StoredTransfer>
  /** Ends everything that the harness started, and drops what it created. Safe to call twice. */
  stop(): Promise<void>
}

/** The host's side without its end. */
export type OpenedHost<Tx> = Omit<HostSide<Tx>, 'stop' | typeof Symbol.asyncDispose>

/** Backoffs are a twentieth of their longest, so that tests of failures do not wait. */
const jitter = 0.05

/** Migrates, creates the engine and starts it. */
export async function openHost<Tx>(options: HostOptions<Tx>, gateway: Gateway): Promise<OpenedHost<Tx>> {
  const { driver, schema, logger } = options
  const backend = postgres({ driver, schema, logger })
  const engine = (options.createEngine ?? createEngine)({
    backend,
    gateway,
    runtime: { random: { ...backend.runtime.random, fraction: () => jitter } },
    polling: { maxDelayMs: 200 },
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
    async poll() {
      const { signal } = new AbortController()
      for (const { accountId, remoteId } of await inspection.transfers({ stage: 'submitted', limit: 100_000 })) {
        if (remoteId === null) continue
        // The engine reads later what cannot be read now because a test wants it so.
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
