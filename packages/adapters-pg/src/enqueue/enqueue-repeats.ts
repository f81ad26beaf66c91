import { type EnqueuedTransfer, type Issue, OutlayError } from '@outlay/core'
import type { NewTransfer } from '@outlay/core/adapter'

/** Most broken elements that one refusal names. */
export const maxIssues = 100

/** The transfers of one call without those that repeat a key of the same call. */
export interface Distinct {
  readonly transfers: readonly NewTransfer[]
  /** The results of all transfers of the call, in their order, from those of these. */
  spread(enqueued: readonly EnqueuedTransfer[]): readonly EnqueuedTransfer[]
}

/**
 * Finds the transfers that one call has to write: of those with one key the first. What repeats it returns that one, like a repeat in another call.
 * @throws OutlayError `idempotency_key_mismatch` for a key that stands for two requests, `conflict` for an id that two transfers have; both positions are named
 */
export function findDistinct(transfers: readonly NewTransfer[]): Distinct {
  const byKey = new Map<string, number>()
  const byId = new Map<string, number>()
  const sources = transfers.map((transfer, position) => {
    const { accountId, idempotencyKey, id } = transfer
    const key = `${accountId}\n${idempotencyKey}`
    const source = byKey.get(key) ?? position
    if (source === position) {
      byKey.set(key, position)
      if (!byId.has(id)) byId.set(id, position)
    }
    return source
  })
  const issues = transfers.flatMap(({ id, fingerprint }, position) => {
    const source = sources[position] ?? position
    const owner = byId.get(id) ?? position
    if (source === position) return owner === position ? [] : [idIssue(position, owner, id)]
    return transfers[source]?.fingerprint === fingerprint ? [] : [keyIssue(position, source)]
  })
  const [first, ...rest] = issues.slice(0, maxIssues)
  if (first !== undefined) throw OutlayError.fromIssues([first, ...rest])
  const firsts = [...byKey.values()]
  if (firsts.length === transfers.length) return { transfers, spread: (enqueued) => enqueued }
  const places = new Map(firsts.map((position, place) => [position, place]))
  return {
    transfers: firsts.map((position) => transfers[position] as NewTransfer),
    spread: (enqueued) =>
      sources.map((source, position) => {
        const written = enqueued[places.get(source) ?? 0] as EnqueuedTransfer
        return source === position ? written : { ...written, reused: true }
      }),
  }
}

const keyIssue = (position: number, source: number): Issue => ({
  field: `${position}.idempotencyKey`,
  code: 'idempotency_key_mismatch',
  message: `The requests ${source} and ${position} have the same key and are different; use a new key for a new request.`,
})

const idIssue = (position: number, owner: number, id: string): Issue => ({
  field: `${position}.id`,
  code: 'conflict',
  message: `The requests ${owner} and ${position} have the same id ${id}; leave the id out or generate one for each.`,
})
