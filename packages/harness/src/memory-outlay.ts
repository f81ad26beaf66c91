import { type Backlog, Id, type StoredTransfer, type TransferFailure, type TransferStatus } from '@outlay/core'
import type { ExternalAddressInput } from '@outlay/http-client'
import { drain, type MemoryGateway, manualClock, memoryGateway, seededRandom } from '@outlay/testing'
import { describePayee, samplePayee, type TestAccount, type TestPayee } from './accounts.ts'
import { type HostOptions, type HostSide, openHost } from './host-engine.ts'

/** Options of a harness without a service. */
export interface MemoryOutlayOptions<Tx> extends HostOptions<Tx> {
  /** Status of a transfer that was just accepted. Default `pending`. */
  readonly status?: TransferStatus | undefined
}

/** An engine on the host's test database with a service in memory: no HTTP, no rails, no money. */
export interface MemoryOutlay<Tx> extends HostSide<Tx> {
  /** The submissions, and the answers that a test sets. */
  readonly gateway: MemoryGateway
  /** Ids of an account and its wallet; they are not checked. */
  account(): Pick<TestAccount, 'id' | 'source'>
  /** An id of a payee; it is not checked. */
  payee(address?: ExternalAddressInput): TestPayee
  /** Sets a transfer's final status, and returns the transfer as the engine then has it. */
  settle(
    transfer: string | { readonly id: string },
    ending: 'complete' | 'canceled' | { readonly fail: string },
  ): Promise<StoredTransfer>
  /** Waits until nothing is queued, being sent or undelivered, and returns the backlog. Throws after 60 s. */
  drain(options?: { readonly timeoutMs?: number }): Promise<Backlog>
}

/**
 * Starts an engine on the host's test database with a service in memory, for tests at the speed of a unit test. It has the same
 * reads and assertions as `startOutlay`.
 *
 * @example
 * await using outlay = await startMemoryOutlay({ driver: drizzleDriver(db), createEngine: createPayouts })
 */
export async function startMemoryOutlay<Tx>(options: MemoryOutlayOptions<Tx>): Promise<MemoryOutlay<Tx>> {
  const gateway = memoryGateway({ status: options.status ?? 'pending' })
  const host = await openHost(options, gateway)
  const clock = manualClock()
  const random = seededRandom(1)
  const nextId = () => Id.generate(clock, random)
  const { engine } = host
  return {
    ...host,
    gateway,
    account() {
      const wallet = nextId()
      return {
        id: nextId(),
        source: (valueType = 'USDC', transferType = 'base') => ({ addressId: wallet, valueType, transferType }),
      }
    },
    payee: (address = samplePayee) => describePayee(nextId(), address),
    async settle(transfer, ending) {
      const { id, remoteId } = await host.submitted(transfer)
      if (typeof ending === 'string') gateway.setStatus(remoteId ?? '', ending)
      else gateway.setStatus(remoteId ?? '', 'failed', failure(ending.fail))
      await host.poll()
      return host.submitted(id)
    },
    drain: ({ timeoutMs } = {}) =>
      drain(engine, {
        timeoutMs,
        until: ({ queued, submitting, undelivered }) => queued + submitting + undelivered === 0,
      }),
    stop: () => engine.stop(),
    [Symbol.asyncDispose]: () => engine.stop(),
  }
}

const failure = (code: string): TransferFailure => ({
  type: 'rejected',
  code,
  detail: 'A test wants it so.',
  occurredAt: '2026-01-05T15:00:00.000Z',
  retriable: false,
})
