import {
  type Backend,
  createEngine,
  type EnqueueRequest,
  type Gateway,
  type Observation,
  type Transfer,
} from '@outlay/core'
import { expect, it } from 'vitest'
import { waitUntil } from '../harness.ts'
import { memoryGateway } from '../memory-gateway.ts'

/** A service with lists: the engine's transfers, and a deposit from elsewhere. */
function listedGateway(): { readonly gateway: Gateway; finish(): void } {
  const memory = memoryGateway({ status: 'pending' })
  const createdAt = new Date().toISOString()
  const times = { createdAt, updatedAt: createdAt }
  const deposit: Transfer = {
    id: 'deposit',
    status: 'pending',
    failure: null,
    amount: { value: '250.00', currency: 'USD' },
    source: { valueType: 'USD', transferType: 'wire' },
    destination: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
    note: `it's "theirs"`,
    automationId: 'automation',
    ...times,
  }
  let status: Transfer['status'] = 'pending'
  const see = (transfer: Transfer): Observation => ({ remoteId: transfer.id, status, failure: null, transfer })
  const list = () => [
    see({ ...deposit, status }),
    ...[...memory.transfers].map(([id, { submission }]) =>
      see({ ...submission.request, id, status, failure: null, note: null, ...times }),
    ),
  ]
  return {
    gateway: {
      submit: memory.submit,
      get: async (_accountId, remoteId) => list().find((seen) => seen.remoteId === remoteId),
      list: async () => ({ observations: list() }),
    },
    finish: () => {
      status = 'complete'
    },
  }
}

/** Lists of the service: the engine reads them to poll, and to adopt transfers from elsewhere. */
export function describeLists<Tx>(
  {
    backend,
    transaction,
  }: {
    readonly backend: Backend<Tx>
    transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  },
  payout: (accountId: string) => EnqueueRequest,
  count: (table: string) => Promise<number>,
): void {
  it('polls many transfers through a list, and adopts transfers from elsewhere', async () => {
    const { gateway, finish } = listedGateway()
    await using engine = createEngine({ backend, gateway, polling: { maxDelayMs: 50 } })
    expect(await transaction((tx) => engine.accounts.watch(tx, 'lists'))).toBe(true)
    const requests = Array.from({ length: 30 }, () => payout('lists'))
    const [first] = await transaction((tx) => engine.transfers.enqueueMany(tx, requests))
    await engine.start()
    await waitUntil(() => engine.transfers.getByKey('lists', 'adopted deposit'))
    finish()
    const settled = `outlay.transfer where account_id = 'lists' and stage = 'settled'`
    await waitUntil(async () => (await count(settled)) === 31, { timeoutMs: 60_000 })
    expect(await engine.transfers.get(first?.id ?? '')).toMatchObject({ status: 'complete', attempt: 1 })
    const adopted = await engine.transfers.getByKey('lists', 'adopted deposit')
    expect(adopted).toMatchObject({ status: 'complete', attempt: 0, request: { note: `it's "theirs"` } })
    expect(await count(`outlay.transfer where account_id = 'lists'`)).toBe(31)
    expect(await transaction((tx) => engine.accounts.unwatch(tx, 'lists'))).toBe(true)
    expect(await transaction((tx) => engine.accounts.unwatch(tx, 'lists'))).toBe(false)
  })
}
