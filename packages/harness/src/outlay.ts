import { type Driver, pgDriver } from '@outlay/adapters-pg'
import type { Backlog, StoredTransfer } from '@outlay/core'
import { type Client, type ExternalAddressInput, httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { Sandbox, SeedFunds } from '@outlay/service/sandbox'
import { drain, startFaultProxy, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { type AccountOptions, createAccounts, type TestAccount, type TestPayee } from './accounts.ts'
import { type Databases, openDatabases } from './databases.ts'
import { type Duration, parseDuration } from './duration.ts'
import { createFaults, type Faults } from './faults.ts'
import { type HostOptions, type HostSide, type OpenedHost, openHost } from './host-engine.ts'
import { type Simulations, startSimulations } from './simulations.ts'

/** Options of the service beside the host. Every member has a default. */
export interface ServiceSideOptions {
  /** A server for the service's own database, as its superuser. Default: one is started for this harness. */
  readonly postgres?: { readonly url: string } | undefined
}

/** Options of a harness on a host's own test database. */
export interface OutlayOptions<Tx> extends HostOptions<Tx>, ServiceSideOptions {}

/** The same without the host's own database: one is created, and reached through node-postgres. */
export interface EmbeddedOutlayOptions
  extends Omit<HostOptions<pg.PoolClient>, 'driver' | 'schema'>,
    ServiceSideOptions {
  readonly driver?: undefined
}

/** How a transfer ends. */
export type Ending =
  | 'complete'
  | 'accepted'
  | 'wire_received'
  | { readonly return: string }
  | { readonly reject: string; readonly detail?: string }

/** What an advance waits for first. */
export interface AdvanceOptions {
  /** Waits until everything queued has been sent, so that its rail has it. Default true. */
  readonly afterSending?: boolean | undefined
  /** Longest wait for that, in milliseconds. Default 30 000. */
  readonly timeoutMs?: number | undefined
}

/** Engine, service and clock for one test, or for many that use accounts of their own. */
export interface Outlay<Tx> extends HostSide<Tx> {
  /** Creates an account with wallets and play money, whose credentials the engine's gateway has. */
  account(options?: AccountOptions): Promise<TestAccount>
  /** Registers a payee: by default a wallet on Base. `usBankAccount` of `@outlay/testing` is a bank account. */
  payee(account: string | { readonly id: string }, address?: ExternalAddressInput): Promise<TestPayee>
  /** Puts play money into a wallet of an account: USDC on Base as a decimal string, or the given funds. */
  deposit(account: TestAccount, funds: string | SeedFunds): Promise<void>
  /**
   * Moves the service's time forward. Returns when the service has done the work that became due and the engine has polled it.
   * The engine's own time, and the database's, stay real.
   */
  advance(duration: Duration, options?: AdvanceOptions): Promise<void>
  /** Runs the service's time, six hours a turn, until the engine has nothing left to do. Throws after a minute. */
  drain(options?: { readonly timeoutMs?: number }): Promise<Backlog>
  /**
   * Ends a transfer as given, whatever its rail would have done, and returns it as the engine then has it.
   *
   * `complete`; `{ return: 'R03' }` an ACH return; `{ reject: 'code' }` a refusal of the rail; `accepted` by the Canton party
   * that it is offered to; `wire_received` for a transfer that waits for a wire, which then continues.
   */
  settle(transfer: string | { readonly id: string }, ending: Ending): Promise<StoredTransfer>
  /** Faults between the engine and the service. They do not affect the harness's own requests. */
  readonly faults: Faults
  /** A client of the service without faults. */
  readonly client: Client
  readonly sandbox: Sandbox
  /** Address of the fault proxy, for the host's own gateway. */
  readonly serviceUrl: string
}

/** A harness that created the host's database too. */
export interface EmbeddedOutlay extends Outlay<pg.PoolClient> {
  readonly pool: pg.Pool
}

/**
 * Starts an engine on the host's test database, the whole service with simulated rails on a virtual clock, and a proxy between
 * them for faults. Without a driver the host's database is created too.
 *
 * @example
 * await using outlay = await startOutlay({ driver: drizzleDriver(db), createEngine: createPayouts })
 * const account = await outlay.account({ funds: '500' })
 */
export function startOutlay(options?: EmbeddedOutlayOptions): Promise<EmbeddedOutlay>
export function startOutlay<Tx>(options: OutlayOptions<Tx>): Promise<Outlay<Tx>>
export async function startOutlay<Tx>(
  options: OutlayOptions<Tx> | EmbeddedOutlayOptions = {},
): Promise<Outlay<Tx> | EmbeddedOutlay> {
  const ending = createEnding()
  try {
    const databases = await openDatabases(options.postgres?.url)
    ending.add(() => databases.drop())
    if (options.driver !== undefined) return await openOutlay(options, databases, ending)
    const pool = new pg.Pool({ connectionString: await databases.host() })
    pool.on('error', () => {})
    ending.add(() => pool.end())
    const driver: Driver<pg.PoolClient> = pgDriver(pool)
    return { ...(await openOutlay({ ...options, driver }, databases, ending)), pool }
  } catch (error) {
    await ending.run()
    throw error
  }
}

async function openOutlay<Tx>(options: OutlayOptions<Tx>, databases: Databases, ending: Steps): Promise<Outlay<Tx>> {
  const simulations = await startSimulations(await databases.service())
  ending.add(() => simulations.sandbox.stop())
  const accounts = createAccounts(simulations)
  ending.add(() => accounts.client.close())
  const proxy = await startFaultProxy({ target: simulations.sandbox.url })
  ending.add(() => proxy.stop())
  const gateway = httpGateway({
    keyLifetimeMs: outlayKeyLifetimeMs,
    baseUrl: proxy.url,
    credentials: accounts.credentials,
    timeouts: { headersMs: 30_000, bodyMs: 30_000 },
  })
  ending.add(async () => gateway.close?.())
  const host = await openHost(options, gateway)
  // A request that a test still holds would keep the engine waiting for its answer.
  ending.add(() => host.engine.stop())
  ending.add(async () => proxy.faults.clear())
  const time = createTime(host, simulations, options.start !== false)
  return {
    ...host,
    ...time,
    account: (account) => accounts.create(account),
    payee: (account, address) => accounts.registerPayee(account, address),
    async deposit(account, given) {
      const funds = typeof given === 'string' ? { valueType: 'USDC', transferType: 'base', amount: given } : given
      const { addressId } = account.source(funds.valueType, funds.transferType)
      const { valueType: value_type, transferType: transfer_type, amount } = funds
      const body = { account_id: account.id, address_id: addressId, value_type, transfer_type, amount }
      await simulations.post(account.credentials, '/deposits', body)
    },
    async settle(transfer, wanted) {
      const { id, remoteId, accountId } = await host.submitted(transfer)
      await simulations.settle()
      const [path, body] = endingCall(remoteId ?? '', wanted)
      await simulations.post(accounts.credentials(accountId), path, body)
      await simulations.settle()
      await host.poll()
      return host.submitted(id)
    },
    faults: createFaults(proxy),
    client: accounts.client,
    sandbox: simulations.sandbox,
    serviceUrl: proxy.url,
    stop: ending.run,
    [Symbol.asyncDispose]: ending.run,
  }
}

function createTime<Tx>(
  host: OpenedHost<Tx>,
  simulations: Simulations,
  works: boolean,
): Pick<Outlay<Tx>, 'advance' | 'drain'> {
  const { engine } = host
  const move = async (ms: number) => {
    await simulations.settle()
    await simulations.advance(ms)
    await simulations.settle()
    await host.poll()
  }
  return {
    async advance(duration, { afterSending = true, timeoutMs = 30_000 } = {}) {
      const ms = parseDuration(duration)
      let last: Backlog | undefined
      const sent = async () => {
        last = await engine.backlog()
        return last.queued + last.submitting === 0
      }
      const describe = () =>
        `everything to be sent before time moves, or set afterSending: false; ${JSON.stringify(last)}`
      if (works && afterSending) await waitUntil(sent, { timeoutMs, describe })
      await move(ms)
    },
    async drain({ timeoutMs = 60_000 } = {}) {
      const until = (backlog: Backlog) => {
        const { queued, submitting, submitted, undelivered } = backlog
        return queued + submitting + submitted + undelivered === 0
      }
      return drain(
        {
          async backlog() {
            const backlog = await engine.backlog()
            if (backlog.submitted > 0) await move(6 * 3_600_000)
            return backlog
          },
        },
        { timeoutMs, until },
      )
    },
  }
}

function endingCall(
  remoteId: string,
  wanted: Ending,
): readonly [path: string, body: Readonly<Record<string, unknown>>] {
  const at = `/transfers/${remoteId}`
  if (wanted === 'complete') return [`${at}/settle`, {}]
  if (wanted === 'accepted') return [`${at}/accept`, {}]
  if (wanted === 'wire_received') return ['/wires', { transfer_id: remoteId }]
  if ('return' in wanted) return [`${at}/return`, { code: wanted.return }]
  const { reject: code, detail } = wanted
  return [`${at}/reject`, detail === undefined ? { code } : { code, detail }]
}

/** Steps to run at the end, last in, first out. */
interface Steps {
  add(step: () => Promise<void>): void
  /** Runs all steps, once, and throws the first error afterwards. */
  run(): Promise<void>
}

/** Creates an empty list of steps. */
function createEnding(): Steps {
  const steps: (() => Promise<void>)[] = []
  let running: Promise<void> | undefined
  const runAll = async () => {
    const errors: unknown[] = []
    for (const step of steps.reverse()) await step().catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }
  return { add: (step) => steps.push(step), run: () => (running ??= runAll()) }
}
