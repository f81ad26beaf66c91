import type {
  Gateway,
  Observation,
  Submission,
  SubmitResult,
  Transfer,
  TransferReturn,
  TransferStatus,
} from '@outlay/core'

/** A service in memory that lists its transfers, newest first, and counts its requests. */
export interface ListedGateway extends Gateway {
  /** Requests for one transfer, and for one page of a list. */
  readonly requests: { get: number; list: number }
  /** Transfers by id, in the order of their creation. */
  readonly transfers: ReadonlyMap<string, Transfer>
  /** Makes a transfer that no engine sent. */
  add(overrides?: Partial<Transfer>): Transfer
  setStatus(id: string, status: TransferStatus): void
  /** Sets all that came back of a transfer. */
  setReturns(id: string, returns: readonly TransferReturn[]): void
  observe(id: string): Observation
  /** Called before each page is listed. */
  onList: (cursor: string | undefined, signal: AbortSignal) => Promise<void> | undefined
  /** Ids that lists leave out. */
  readonly hidden: Set<string>
  /** Answers a create before it takes effect, or after it did; `undefined` changes nothing. */
  answer: (submission: Submission, moment: 'before' | 'after') => Promise<SubmitResult | undefined> | undefined
}

/** Makes a service in memory. What it creates is pending. */
export function listedGateway(): ListedGateway {
  const transfers = new Map<string, Transfer>()
  const byKey = new Map<string, string>()
  const hidden = new Set<string>()
  const requests = { get: 0, list: 0 }
  const startedAt = Date.now()
  const add = (overrides: Partial<Transfer> = {}): Transfer => {
    const createdAt = new Date(startedAt + transfers.size).toISOString()
    const transfer: Transfer = {
      id: `remote-${transfers.size + 1}`,
      status: 'pending',
      failure: null,
      amount: { value: '250.00', currency: 'USD' },
      source: { valueType: 'USD', transferType: 'wire' },
      destination: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
      note: null,
      createdAt,
      updatedAt: createdAt,
      ...overrides,
    }
    transfers.set(transfer.id, transfer)
    return transfer
  }
  const find = (id: string): Transfer => {
    const transfer = transfers.get(id)
    if (transfer === undefined) throw new Error(`The service has no transfer ${id}.`)
    return transfer
  }
  const observe = (id: string): Observation => {
    const transfer = find(id)
    return { remoteId: id, status: transfer.status, failure: transfer.failure, transfer }
  }
  const gateway: ListedGateway = {
    requests,
    transfers,
    add,
    observe,
    hidden,
    onList: () => undefined,
    answer: () => undefined,
    setStatus: (id, status) => transfers.set(id, { ...find(id), status, updatedAt: new Date().toISOString() }),
    setReturns: (id, returns) => transfers.set(id, { ...find(id), returns, updatedAt: new Date().toISOString() }),
    async submit(submission) {
      const refusal = await gateway.answer(submission, 'before')
      if (refusal !== undefined) return refusal
      const { amount, source, destination } = submission.request
      const id = byKey.get(submission.idempotencyKey) ?? add({ amount, source, destination }).id
      byKey.set(submission.idempotencyKey, id)
      const answer = await gateway.answer(submission, 'after')
      return answer ?? { outcome: 'accepted', remoteId: id, observation: observe(id) }
    },
    async get(_accountId, remoteId) {
      requests.get += 1
      return observe(remoteId)
    },
    async list(_accountId, { cursor, limit, signal }) {
      requests.list += 1
      await gateway.onList(cursor, signal)
      const ids = [...transfers.keys()].filter((id) => !hidden.has(id)).reverse()
      const from = cursor === undefined ? 0 : ids.indexOf(cursor) + 1
      const page = ids.slice(from, from + limit)
      const next = from + limit < ids.length ? page.at(-1) : undefined
      return { observations: page.map(observe), next }
    },
  }
  return gateway
}
