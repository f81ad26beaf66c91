import { type EnqueueRequest, Id, OutlayError } from '@outlay/core'
import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { countJobs, readJobs } from '../../test/queue.ts'
import { chunkSize } from './enqueue-chunks.ts'

describe('more transfers than one statement holds', async () => {
  const { pool, open, commit } = await testHost({ max: 8 })
  const engine = open()
  beforeAll(async () => {
    await pool.query('create table note (text text)')
  })

  const count = async (from: string) => Number((await pool.query(`select count(*) from ${from}`)).rows[0].count)
  const payouts = (total: number, accounts = 50) =>
    Array.from({ length: total }, (_, n) => samplePayout(`account-${n % accounts}`, { idempotencyKey: `invoice-${n}` }))
  const changed = (request: EnqueueRequest) => ({ ...request, amount: { value: '1.00', currency: 'USD' } })
  const refuse = (tx: pg.PoolClient, requests: readonly EnqueueRequest[]) =>
    engine.transfers.enqueueMany(tx, requests).catch((caught: unknown) => caught)
  const fieldsOf = (error: unknown) => (OutlayError.is(error) ? error.issues.map((issue) => issue.field) : error)

  it('are written a hundred thousand in one call, each with its job, and each account in the order given', async () => {
    const total = 100_000
    const requests = payouts(total)
    const transfers = await commit((tx) => engine.transfers.enqueueMany(tx, requests))
    expect(transfers.map((transfer) => transfer.idempotencyKey)).toEqual(requests.map((one) => one.idempotencyKey))
    expect(transfers.every((transfer) => !transfer.reused && transfer.stage === 'queued')).toBe(true)
    expect(await count('outlay.transfer')).toBe(total)
    expect(await countJobs(pool)).toBe(total)
    const order = new Map((await readJobs(pool)).map((job, at) => [job.transferId, at]))
    for (const account of ['account-0', 'account-49']) {
      const own = transfers.filter((one) => one.accountId === account).map((one) => order.get(one.id))
      expect(own).toEqual([...own].sort((a = 0, b = 0) => a - b))
      expect(new Set(own).size).toBe(total / 50)
    }
  }, 300_000)

  it('are written all or none, and leave the transaction of the host usable', async () => {
    const requests = payouts(2 * chunkSize + 10)
    const stored = [7, chunkSize + 7, 2 * chunkSize + 7]
    await commit((tx) =>
      engine.transfers.enqueueMany(
        tx,
        stored.map((n) => requests[n] as EnqueueRequest),
      ),
    )
    const others = requests.map((request, n) => (stored.includes(n) ? changed(request) : request))
    await commit(async (tx) => {
      await tx.query(`insert into note values ('before')`)
      expect(fieldsOf(await refuse(tx, others))).toEqual(stored.map((n) => `${n}.idempotencyKey`))
      await tx.query(`insert into note values ('after')`)
    })
    expect([await count('note'), await count('outlay.transfer'), await countJobs(pool)]).toEqual([2, 3, 3])
    const all = await commit((tx) => engine.transfers.enqueueMany(tx, requests))
    expect(all.flatMap((transfer, n) => (transfer.reused ? [n] : []))).toEqual(stored)
    expect(await countJobs(pool)).toBe(requests.length)
  })

  it('are compared with each other, wherever in the call they stand', async () => {
    const requests = payouts(chunkSize + 10, 1)
    const [first = samplePayout('account-0')] = requests
    await commit(async (tx) => {
      expect(fieldsOf(await refuse(tx, [...requests, changed(first)]))).toEqual([`${chunkSize + 10}.idempotencyKey`])
      const id = Id.lowest(new Date())
      const twice = [{ ...first, id }, ...requests.slice(1), samplePayout('other', { id })]
      expect(fieldsOf(await refuse(tx, twice))).toEqual([`${chunkSize + 10}.id`])
      const again = await engine.transfers.enqueueMany(tx, [...requests, first])
      expect(again.at(-1)).toMatchObject({ id: again[0]?.id, reused: true })
    })
    expect(await count('outlay.transfer')).toBe(chunkSize + 10)
  })

  it('do not deadlock with another batch of the same keys in another order', async () => {
    const requests = payouts(2 * chunkSize + 500)
    const batches = [requests, [...requests].reverse(), requests.slice(500, 500 + chunkSize)]
    const written = await Promise.all(batches.map((batch) => commit((tx) => engine.transfers.enqueueMany(tx, batch))))
    expect(written.flat().filter((transfer) => !transfer.reused)).toHaveLength(requests.length)
    expect(await count('outlay.transfer')).toBe(requests.length)
  })
})
