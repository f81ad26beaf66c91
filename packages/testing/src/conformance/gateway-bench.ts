import { randomUUID } from 'node:crypto'
import type {
  ExternalAddressRequest,
  Gateway,
  RegisterResult,
  Submission,
  SubmitResult,
  TransferRequest,
} from '@outlay/core'
import { expect } from 'vitest'
import { type FaultProxy, startFaultProxy } from '../fault-proxy.ts'
import type { RequestMatch } from '../faults.ts'

/** A gateway under test, and the provider behind it. */
export interface GatewaySubject {
  /** Sends its requests to the address that {@link Through} returned. */
  readonly gateway: Gateway
  /** An account that the gateway can send for. */
  readonly accountId: string
  /** A request that the provider accepts. Each call may return the same; the keys differ. */
  request(): TransferRequest
  /** How many payments the provider has, read at the provider and not through the gateway. */
  countPayments(): number | Promise<number>
  /** The HTTP requests that create a payment. Default: every POST. */
  readonly submits?: RequestMatch | undefined
  /** A request that the provider refuses for good. Without it, refusals are not tested. */
  refused?(): TransferRequest
  /** Lets the provider accept what `refused` asks for from now on. Without it, it is not tested that `keyClosed` is true. */
  permit?(): void | Promise<void>
  /** A request that the provider refuses for want of money. Without it, that is not tested. */
  unfunded?(): TransferRequest
  /** Gives the money that `unfunded` lacks. */
  fund?(): void | Promise<void>
  /** Completes a payment at the provider. Without it, final statuses are not tested. */
  complete?(remoteId: string): void | Promise<void>
  /** Fails a payment at the provider. */
  fail?(remoteId: string): void | Promise<void>
  /** Returns the money of a complete payment, all of it. Without it, returns are not tested. */
  giveBack?(remoteId: string): void | Promise<void>
  /** A counterparty that the provider accepts, for a gateway with `registerAddress`. */
  counterparty?(): ExternalAddressRequest
  /** How many counterparties the provider has. */
  countCounterparties?(): number | Promise<number>
  /** The HTTP requests that register a counterparty. Default: every POST. */
  readonly registers?: RequestMatch | undefined
  /** Texts that no result may contain, such as the gateway's secret. */
  readonly secrets?: readonly string[] | undefined
  close?(): unknown
}

/** Starts a proxy with faults before a server, given as `http://host:port`, and returns the address to use instead. */
export type Through = (target: string) => Promise<string>

/** A subject, its proxy, and how the suite sends. */
export interface GatewayBench {
  readonly subject: GatewaySubject
  readonly proxy: FaultProxy
  readonly submits: RequestMatch
  /** A submission with a key of its own. */
  submission(request?: TransferRequest): Submission
  /** Sends it. Fails the test when the gateway throws, or shows a secret. */
  submit(
    submission: Submission,
    options?: { readonly signal?: AbortSignal; mayBegin?(): boolean },
  ): Promise<SubmitResult>
  /** Sends it until it is accepted, as the engine does; returns the id. */
  insist(submission: Submission): Promise<string>
  register(key: string): Promise<RegisterResult>
  payments(): Promise<number>
}

const patienceMs = 10_000
const mostAttempts = 20
const shortestSecret = 6

/** True when the engine would take the result for a proof that this request moved nothing. */
export const claimsNoEffect = (result: SubmitResult | RegisterResult): boolean =>
  ['rejected', 'insufficient_balance', 'unauthorized', 'throttled'].includes(result.outcome) &&
  result.mayHaveActed !== true

/** Opens a subject behind a proxy. */
export async function openBench(open: (through: Through) => Promise<GatewaySubject>): Promise<GatewayBench> {
  const proxies: FaultProxy[] = []
  const subject = await open(async (target) => {
    const proxy = await startFaultProxy({ target })
    proxies.push(proxy)
    return proxy.url
  })
  const [proxy] = proxies
  if (proxy === undefined)
    throw new Error('open() has to reach the provider through the address that through() returns.')
  const { gateway, accountId, secrets = [] } = subject
  if (secrets.some((secret) => secret.length < shortestSecret))
    throw new Error(`Give secrets of ${shortestSecret} characters or more: a shorter one may be part of any id.`)
  const client = await gateway.identify?.(accountId, { signal: AbortSignal.timeout(patienceMs) })
  const guard = async <T>(method: string, send: () => Promise<T>): Promise<T> => {
    const result = await send().catch((error: unknown) => {
      const says = `${method}() threw. It has to return a result for every answer and every failure of the provider.`
      throw new Error(says, { cause: error })
    })
    for (const secret of secrets)
      expect(
        JSON.stringify(result),
        `${method}() has to keep its secrets out of the result, which is stored and shown.`,
      ).not.toContain(secret)
    return result
  }
  const bench: GatewayBench = {
    subject,
    proxy,
    submits: subject.submits ?? { method: 'POST' },
    submission: (request = subject.request()) => ({
      transferId: randomUUID(),
      accountId,
      idempotencyKey: randomUUID(),
      client,
      request,
      attempt: 1,
    }),
    submit: (submission, { signal = AbortSignal.timeout(patienceMs), mayBegin } = {}) =>
      guard('submit', () => gateway.submit(submission, { signal, mayBegin })),
    async insist(submission) {
      for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
        const result = await bench.submit({ ...submission, attempt })
        if (result.outcome === 'accepted') return result.remoteId
        await waitAfter(result)
      }
      throw new Error(`The provider accepted nothing in ${mostAttempts} attempts without faults.`)
    },
    register: (key) =>
      guard('registerAddress', async () => {
        const address = subject.counterparty?.()
        if (gateway.registerAddress === undefined || address === undefined) throw new Error('There is no counterparty.')
        const registration = { transferId: randomUUID(), accountId, idempotencyKey: key, address, attempt: 1 }
        return gateway.registerAddress(registration, { signal: AbortSignal.timeout(patienceMs) })
      }),
    payments: async () => subject.countPayments(),
  }
  return bench
}

/** A provider that still works on a request says so; a tenth of a second is enough for one in a test. */
const waitAfter = (result: SubmitResult) =>
  new Promise((resolve) =>
    setTimeout(resolve, 'retryAfterMs' in result ? Math.min(result.retryAfterMs ?? 100, 1_000) : 0),
  )
