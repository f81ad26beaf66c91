import type { EnqueueRequest, Gateway, Logger, Observation } from '@outlay/core'
import { type MemoryGateway, memoryGateway, silentLogger, waitUntil } from '@outlay/testing'
import type { HostEngine, TestHost } from './host.ts'
import { emptyOutbox } from './outbox.ts'

/** A service in memory with lists. */
export type ListingGateway = MemoryGateway & Gateway

/** Makes a service in memory that shows lists. Its keys live for 20 days by default. */
export function listingGateway(more: Partial<Gateway> = {}): ListingGateway {
  const gateway = memoryGateway({ status: 'processing' })
  const madeAt = new Map<string, string>()
  const observe = (remoteId: string): Observation | undefined => {
    const made = gateway.transfers.get(remoteId)
    if (made === undefined) return undefined
    const { submission, status } = made
    const at = madeAt.get(remoteId) ?? new Date().toISOString()
    madeAt.set(remoteId, at)
    const { amount, source, destination, note = null } = submission.request
    const shown = { id: remoteId, amount, source, destination, note, status, failure: null }
    return { remoteId, status, failure: null, transfer: { ...shown, createdAt: at, updatedAt: at } } as Observation
  }
  return {
    ...gateway,
    keyLifetimeMs: 20 * 24 * 3_600_000,
    async get(_accountId, remoteId) {
      return observe(remoteId)
    },
    async list(accountId) {
      const own = [...gateway.transfers].filter(([, { submission }]) => submission.accountId === accountId)
      return { observations: own.flatMap(([remoteId]) => observe(remoteId) ?? []) }
    },
    ...more,
  }
}

/** A restored database: it has the given transfers as they were at the backup, and the service has done more. */
export function restoredDatabase({ pool, commit, rows, open, stopAll }: TestHost) {
  const make = (gateway: Gateway, logger: Partial<Logger> = {}) =>
    open({ gateway, fraction: 0.001, logger: { ...silentLogger, ...logger } })
  const isSent = (engine: HostEngine, id: string) =>
    waitUntil(async () => (await engine.transfers.get(id))?.remoteId !== null)
  async function rewind(gateway: Gateway, before: readonly EnqueueRequest[]) {
    await stopAll()
    await emptyOutbox(pool)
    const engine = make(gateway)
    const kept = []
    for (const request of before) kept.push(await commit((tx) => engine.transfers.enqueue(tx, request)))
    await commit((tx) => engine.fence(tx))
    return { engine, ids: kept.map(({ id }) => id) }
  }
  return {
    commit,
    rows,
    make,
    isSent,
    rewind,
    /** Sends these, then restores the database to before: `kept` is enqueued in it, and it is fenced. */
    async sendAndRewind(gateway: Gateway, sent: readonly EnqueueRequest[], kept = sent) {
      const before = make(gateway)
      await before.start()
      for (const request of sent) {
        const { id } = await commit((tx) => before.transfers.enqueue(tx, request))
        await isSent(before, id)
      }
      return rewind(gateway, kept)
    },
    /** Account and id at the service that more than one row has. */
    doubled: () =>
      rows(
        `select account_id, remote_id from outlay.transfer where remote_id is not null group by 1, 2 having count(*) > 1`,
      ),
  }
}
