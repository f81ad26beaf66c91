import type { Gateway, Observation } from '@outlay/core'

/** A service in memory that counts what it is asked, and whose transfers complete some time after they were accepted. */
export interface PolledService {
  readonly gateway: Gateway
  /** Requests for statuses so far: pages of lists, and single transfers. */
  requests(): { readonly pages: number; readonly reads: number }
  /** When the transfer with this key became complete, or becomes so; milliseconds since the epoch. */
  completesAt(idempotencyKey: string): number | undefined
}

interface Accepted {
  readonly remoteId: string
  readonly completesAt: number
}

/** Makes one. The n-th transfer completes `delaysMs(n)` after it was accepted. Without `lists` it has no lists. */
export function polledService(delaysMs: (n: number) => number, lists: boolean): PolledService {
  const byAccount = new Map<string, Accepted[]>()
  const byKey = new Map<string, Accepted>()
  const byId = new Map<string, Accepted>()
  const [count, now] = [{ pages: 0, reads: 0 }, () => Date.now()]
  const observe = ({ remoteId, completesAt }: Accepted): Observation => ({
    remoteId,
    status: completesAt <= now() ? 'complete' : 'processing',
    failure: null,
    reachedAt: new Date(Math.min(completesAt, now())).toISOString(),
  })
  const gateway: Gateway = {
    submit({ accountId, idempotencyKey }) {
      const known = byKey.get(idempotencyKey)
      if (known !== undefined) throw new Error(`${idempotencyKey} was submitted twice.`)
      const accepted = { remoteId: `remote-${idempotencyKey}`, completesAt: now() + delaysMs(byKey.size) }
      byKey.set(idempotencyKey, accepted)
      byId.set(accepted.remoteId, accepted)
      byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), accepted])
      return Promise.resolve({ outcome: 'accepted', remoteId: accepted.remoteId })
    },
    get(_accountId, remoteId) {
      count.reads += 1
      const found = byId.get(remoteId)
      return Promise.resolve(found && observe(found))
    },
  }
  return {
    gateway: lists
      ? {
          ...gateway,
          list(accountId, { cursor, limit }) {
            count.pages += 1
            const all = byAccount.get(accountId) ?? []
            // Newest first; the cursor is how many older ones are left.
            const end = cursor === undefined ? all.length : Number(cursor)
            const observations = all
              .slice(Math.max(0, end - limit), end)
              .reverse()
              .map(observe)
            return Promise.resolve({ observations, ...(end > limit ? { next: String(end - limit) } : {}) })
          },
        }
      : gateway,
    requests: () => ({ ...count }),
    completesAt: (idempotencyKey) => byKey.get(idempotencyKey)?.completesAt,
  }
}
