import type { EnqueuedTransfer, EnqueueRequest, EventType, StoredTransfer } from '@outlay/core'
import type { Sandbox, SeedClient } from '@outlay/service/sandbox'
import { type FaultProxy, startFaultProxy, waitUntil } from '@outlay/testing'
import { expect } from 'vitest'
import { type Host, type HostOptions, openHost } from './host.ts'
import { type Account, type Stage, seedClient, setStage, settleAll } from './stage.ts'

/** A create as it reached the proxy. */
export interface SeenCreate {
  readonly accountId: string
  readonly key: string
  /** The access token that came with it. */
  readonly token: string
  /** Monotonic time, in milliseconds. */
  readonly atMs: number
}

/** One host and the service, with a proxy between them that records requests and injects faults. */
export interface Scene extends AsyncDisposable {
  readonly stage: Stage
  readonly proxy: FaultProxy
  readonly host: Host
  /** Creates of transfers in the order of their arrival. */
  readonly creates: readonly SeenCreate[]
  /** Requests for a token so far. */
  tokenRequests(): number
  /** Events about accounts and waiting transfers that the host received, in order. */
  readonly news: readonly string[]
  enqueue(overrides?: Partial<EnqueueRequest>): Promise<EnqueuedTransfer>
  /** Waits until the transfer has all of these. */
  reach(id: string, wanted: Partial<StoredTransfer>): Promise<StoredTransfer>
  /** Waits until the service certainly has the transfer. */
  arrive(id: string): Promise<StoredTransfer>
  /** True when the host may cancel the transfer; it is canceled then. */
  cancel(id: string): Promise<boolean>
  /**
   * The outcomes in the attempts log of a transfer, but for attempts that never began: on a busy machine a worker may not
   * have been able to ask for a second whether sending is stopped.
   */
  outcomes(id: string): Promise<readonly string[]>
  /** Lets everything settle, and proves that both sides have one transfer: one debit, one event, one key. */
  proveOne(): Promise<Account>
}

/** Options of a scene. */
export interface SceneOptions {
  readonly host?: Omit<HostOptions, 'credentials'> | undefined
  readonly client?: SeedClient | undefined
  /** Where the proxy sends requests on to. Default: the sandbox. */
  readonly target?: string | undefined
  /** Reads the credentials of an account. Default: the seeded client's. */
  readonly credentials?: HostOptions['credentials'] | undefined
}

const watched: readonly EventType[] = [
  'transfer.awaiting_funds',
  'transfer.blocked',
  'transfer.released',
  'account.credentials_refused',
  'account.credentials_restored',
]

/** Matches creates of transfers. */
export const creates = { method: 'POST', path: /transfers$/ } as const

/** Opens a scene. Backoffs are a twentieth of their longest, unless the options say otherwise. */
export async function openScene(sandbox: Sandbox, databaseUrl: string, options: SceneOptions = {}): Promise<Scene> {
  const stage = await setStage(sandbox.url, await sandbox.seedClient(options.client ?? seedClient))
  const proxy = await startFaultProxy({ target: options.target ?? sandbox.url })
  const seen: SeenCreate[] = []
  const never = { kind: 'delay_request', ms: 0 } as const
  proxy.faults.add({
    ...creates,
    where: ({ path, headers }) => {
      const key = String(headers['idempotency-key'])
      const token = String(headers.authorization).replace('Bearer ', '')
      seen.push({ accountId: path.split('/')[2] ?? '', key, token, atMs: performance.now() })
      return false
    },
    fault: never,
  })
  const tokens = proxy.faults.add({ path: '/oauth2/token', fault: never })
  const settings = stage.settings(databaseUrl, proxy.url)
  const host = openHost(settings, { jitter: 0.05, ...options.host, credentials: options.credentials })
  const news: string[] = []
  host.engine.subscribe('news', watched, async ({ type }) => {
    news.push(type)
  })
  return {
    ...act(stage, host),
    stage,
    proxy,
    host,
    creates: seen,
    tokenRequests: () => tokens.matched,
    news,
    async [Symbol.asyncDispose]() {
      await host.close()
      await stage.client.close()
      await proxy.stop()
    },
    async proveOne() {
      const account = await settleAll(stage, host)
      expect(account.host).toHaveLength(1)
      const [{ id, remoteId }] = account.host as [Account['host'][number]]
      expect(account.host[0]?.status).toBe('complete')
      expect(account.service).toEqual([{ id: remoteId, status: 'complete' }])
      expect(account.effects).toEqual([{ transfer_id: id, type: 'transfer.completed' }])
      expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
      return account
    },
  }
}

/** The actions of a host in a scene, and its observations. */
function act(stage: Stage, host: Host): Pick<Scene, 'enqueue' | 'reach' | 'arrive' | 'cancel' | 'outcomes'> {
  const { engine, transaction } = host
  const watch = (id: string, wanted: string, isThere: (transfer: StoredTransfer) => boolean) => {
    let last: StoredTransfer | undefined
    return waitUntil(
      async () => {
        last = await engine.transfers.get(id)
        return last !== undefined && isThere(last) ? last : undefined
      },
      { timeoutMs: 60_000, describe: () => `${wanted} of ${JSON.stringify(last)}` },
    )
  }
  return {
    enqueue: (overrides) => transaction((tx) => engine.transfers.enqueue(tx, { ...stage.payout(), ...overrides })),
    reach: (id, wanted) =>
      watch(id, JSON.stringify(wanted), (transfer) =>
        Object.entries(wanted).every(([name, value]) => transfer[name as keyof StoredTransfer] === value),
      ),
    arrive: (id) => watch(id, 'a remote id', ({ remoteId }) => remoteId !== null),
    cancel: (id) =>
      transaction((tx) => engine.transfers.cancel(tx, id)).then(
        () => true,
        (error: { code?: unknown }) => {
          expect(error.code).toBe('transfer_not_cancelable')
          return false
        },
      ),
    outcomes: async (id) => {
      const query = `select outcome from outlay.attempt
        where transfer_id = $1 and outcome is distinct from 'stopped' order by attempt`
      return (await host.pool.query(query, [id])).rows.map(({ outcome }) => outcome)
    },
  }
}
