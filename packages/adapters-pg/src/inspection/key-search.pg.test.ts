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
    expect(await search(bounds)).toEqual({ ids: [inBolt.id, inAcme.id], isCut: false })
    expect(await search({ ...bounds, limit: 1 })).toEqual({ ids: [inBolt.id], isCut: true })
    expect(await search({ ...bounds, limit: 2 })).toEqual({ ids: [inBolt.id, inAcme.id], isCut: false })
    const accountIds = ['acme', 'cord', 'acme']
    expect(await search({ ...bounds, accountIds })).toEqual({ ids: [inAcme.id], isCut: false })
    expect(await search({ ...bounds, accountIds: [] })).toEqual({ ids: [], isCut: false })
    expect(await search({ ...bounds, mostAccounts: 1 })).toEqual({ ids: [inAcme.id], isCut: true })
    expect(await search({ ...bounds, mostAccounts: 3 })).toMatchObject({ isCut: false })
    expect(await search({ ...bounds, idempotencyKey: 'INV-9' })).toEqual({ ids: [], isCut: false })
    expect(await search({ ...bounds, idempotencyKey: 'INV-9', mostAccounts: 2 })).toEqual({ ids: [], isCut: true })
  })
})
