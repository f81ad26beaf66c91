import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { keySearch } from './key-search.ts'

describe('the search for a key', async () => {
  const { open, driver, enqueue } = await testHost()
  const search = keySearch({ driver })

  it('finds it in every account, in those that are named, and in no more accounts than asked for', async () => {
    const engine = open()
    const idempotencyKey = 'INV-7'
    const [inAcme, inBolt] = [
      await enqueue(engine, { idempotencyKey }),
      await enqueue(engine, { idempotencyKey, accountId: 'bolt' }),
    ]
    await enqueue(engine, { idempotencyKey: 'INV-8', accountId: 'cord' })
    const bounds = { idempotencyKey, mostAccounts: 10, limit: 10 }
    expect(await search(bounds)).toEqual([inBolt.id, inAcme.id])
    expect(await search({ ...bounds, limit: 1 })).toEqual([inBolt.id])
    expect(await search({ ...bounds, accountIds: ['acme', 'cord', 'acme'] })).toEqual([inAcme.id])
    expect(await search({ ...bounds, accountIds: [] })).toEqual([])
    expect(await search({ ...bounds, mostAccounts: 1 })).toEqual([inAcme.id])
    expect(await search({ ...bounds, idempotencyKey: 'INV-9' })).toEqual([])
  })
})
