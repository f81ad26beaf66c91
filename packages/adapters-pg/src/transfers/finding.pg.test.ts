import type { FindTransfers, StoredTransfer } from '@outlay/core'
import { createCatalog, Id } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const idsOf = (transfers: readonly StoredTransfer[]) => transfers.map(({ id }) => id)

/** All pages of a search. */
async function findAll(engine: HostEngine, query: FindTransfers, between?: () => Promise<unknown>) {
  const found: StoredTransfer[] = []
  let cursor: string | undefined
  do {
    const page = await engine.transfers.find({ ...query, cursor })
    found.push(...page.transfers)
    cursor = page.nextCursor ?? undefined
    await between?.()
  } while (cursor !== undefined)
  return found
}

describe('the search for transfers', async () => {
  const { open, commit, rows, enqueue, enqueueMany } = await testHost()

  it('narrows by every member, the newest first', async () => {
    const engine = open()
    const first = await enqueue(engine, { metadata: { order: '1', kind: 'salary' } })
    const second = await enqueue(engine, { accountId: 'bolt', metadata: { order: '2', kind: 'salary' } })
    const third = await enqueue(engine, { accountId: 'bolt' })
    await commit((tx) => engine.transfers.cancel(tx, third.id))
    const find = async (query: FindTransfers) => idsOf((await engine.transfers.find(query)).transfers)
    expect(await find({})).toEqual([third.id, second.id, first.id])
    expect(await find({ accountId: 'bolt' })).toEqual([third.id, second.id])
    expect(await find({ accountId: 'bolt', stage: 'queued' })).toEqual([second.id])
    expect(await find({ stage: 'queued' })).toEqual([second.id, first.id])
    expect(await find({ status: 'canceled' })).toEqual([third.id])
    expect(await find({ metadata: { kind: 'salary' } })).toEqual([second.id, first.id])
    expect(await find({ metadata: { kind: 'salary', order: '1' } })).toEqual([first.id])
    expect(await find({ metadata: { kind: 'salary', order: '3' } })).toEqual([])
    expect(await find({ metadata: { kind: 'salary' }, accountId: 'acme' })).toEqual([first.id])
    expect(await find({ currency: 'usd', gateway: 'default' })).toHaveLength(3)
    expect(await find({ currency: 'MXN' })).toEqual([])
    expect(await find({ reason: 'account_paused' })).toEqual([])
    expect(await find({ amount: '13' })).toEqual([])
    const { value } = third.request.amount
    expect(await find({ amount: `${value}0`, currency: 'usd', accountId: 'bolt' })).toEqual([third.id, second.id])
    expect(await find({ payee: third.request.destination.addressId ?? '' })).toHaveLength(3)
    expect(await find({ payee: 'nobody' })).toEqual([])
    expect(await find({ createdAfter: second.createdAt })).toEqual([third.id, second.id])
    expect(await find({ createdBefore: second.createdAt })).toEqual([first.id])
    expect(await find({ createdAfter: new Date(Date.now() + 7_200_000) })).toEqual([])
    expect(await find({ accountId: 'nobody' })).toEqual([])
  })

  it.each([
    ['0.5', ['0.5', '00.50', '0.500'], ['0.05', '5', '10.5']],
    ['12.50', ['12.5', '012.50', '12.500'], ['2.5', '112.5', '12.05', '12']],
    ['0012', ['12', '12.00'], ['1200', '120', '0.12']],
  ])('finds the amount %s in whatever way it is written', async (amount, same, others) => {
    const accountId = `amount-${amount}`
    const engine = open()
    const all = await enqueueMany(engine, same.length + others.length, accountId)
    const ids = all.map(({ id }) => id)
    await rows(
      `update outlay.transfer t set request = jsonb_set(t.request, '{amount,value}', to_jsonb(v.value))
       from unnest($1::text[], $2::text[]) as v (id, value) where t.id = v.id`,
      [ids, [...same, ...others]],
    )
    const { transfers } = await engine.transfers.find({ amount, accountId })
    expect(idsOf(transfers).toSorted()).toEqual(ids.slice(0, same.length).toSorted())
  })

  it('refuses a currency that its catalog does not have where no transfer is in it, and finds those that are in one', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    for (const query of [{ currency: 'EURO' }, { currency: 'EURO', accountId: 'acme' }])
      await expect(engine.transfers.find(query)).rejects.toMatchObject({
        ...{ code: 'unknown_value_type', field: 'currency' },
        message: expect.stringContaining('currency: is not in the catalog, which has USD, MXN, USDC'),
      })
    // Behind the first page there may have been some.
    expect(await engine.transfers.find({ currency: 'EURO', cursor: id })).toEqual({ transfers: [], nextCursor: null })
    const euro = { name: 'EURO', aliases: ['euros'], kind: 'fiat', scale: 2 } as const
    const own = open({ catalog: createCatalog({ valueTypes: [euro] }) })
    expect(await own.transfers.find({ currency: 'euros' })).toEqual({ transfers: [], nextCursor: null })
    // One that the service reports, or that the catalog had once.
    await rows(`update outlay.transfer set request = jsonb_set(request, '{amount,currency}', '"EURO"') where id = $1`, [
      id,
    ])
    expect(idsOf((await engine.transfers.find({ currency: 'euro' })).transfers)).toEqual([id])
    expect(idsOf((await own.transfers.find({ currency: 'euros' })).transfers)).toEqual([id])
  })

  it('returns transfers as get does, as the transaction sees them or as they are committed', async () => {
    const engine = open()
    const metadata = { order: '7' }
    await commit(async (tx) => {
      const { id } = await engine.transfers.enqueue(tx, samplePayout('acme', { metadata }))
      expect((await engine.transfers.find({ metadata }, tx)).transfers).toEqual([await engine.transfers.get(id, tx)])
      expect(await engine.transfers.find({ metadata })).toEqual({ transfers: [], nextCursor: null })
    })
    expect((await engine.transfers.find({ metadata })).transfers).toHaveLength(1)
  })

  it.each<[string, FindTransfers]>([
    ['nothing', {}],
    ['an account', { accountId: 'acme' }],
    ['metadata', { metadata: { kind: 'salary' } }],
    ['a stage', { stage: 'queued' }],
  ])('by %s has every transfer once, and none that is enqueued between the pages', async (_, query) => {
    const engine = open()
    const requests = Array.from({ length: 25 }, () => samplePayout('acme', { metadata: { kind: 'salary' } }))
    const before = await commit((tx) => engine.transfers.enqueueMany(tx, requests))
    const found = await findAll(engine, { ...query, limit: 4 }, () => enqueue(engine, { metadata: { kind: 'salary' } }))
    expect(idsOf(found)).toEqual(idsOf(before).reverse())
  })

  it('goes on behind what one call reads, also where nothing on the page matches', async () => {
    const engine = open()
    const [oldest] = await enqueueMany(engine, 1, 'rare')
    // Twenty-five thousand of another account, each newer than that.
    await rows(
      `insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request)
       select substr($1, 1, 10) || 'Z' || lpad(n::text, 15, '0'), 'other', n::text, '', t.request
       from generate_series(1, 25000) n, outlay.transfer t where t.id = $1`,
      [oldest?.id],
    )
    const first = await engine.transfers.find({ status: 'pending', currency: 'EUR' })
    expect(first.transfers).toEqual([])
    expect(Id.is(first.nextCursor)).toBe(true)
    expect(await findAll(engine, { currency: 'EUR' })).toEqual([])
    expect(idsOf(await findAll(engine, { gateway: 'default', limit: 1_000 }))).toHaveLength(25_001)
    expect(idsOf((await engine.transfers.find({ accountId: 'rare' })).transfers)).toEqual([oldest?.id])
  })

  it.each([
    ['metadata', { metadata: Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`k${at}`, 'v'])) }],
    ['accountId', { accountId: undefined }],
    ['accountId', { accountId: 'a b' }],
    ['metadata.order', { metadata: { order: undefined } }],
    ['metadata.order', { metadata: { order: 5 } }],
    ['stage', { stage: 'done' }],
    ['status', { status: 'paid' }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 1_001 }],
    ['cursor', { cursor: 'x' }],
    ['createdAfter', { createdAfter: '2026-01-01' }],
    ['currency', { currency: '' }],
    ['acount', { acount: 'acme' }],
  ])('refuses what is wrong with %s: %j', async (field, query) => {
    await expect(open().transfers.find(query as never)).rejects.toMatchObject({ field })
  })
})
