import { OutlayError } from '@outlay/core'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { countJobs, readJobs } from '../../test/queue.ts'

const bank = '01J0000000000000000000000B'

describe('enqueue in the transaction of the host', async () => {
  const { database, pool, open } = await testHost({ max: 60 })
  const engine = open()

  async function inTransaction<T>(work: (tx: pg.PoolClient) => Promise<T>, end = 'commit'): Promise<T> {
    const tx = await pool.connect()
    try {
      await tx.query('begin')
      const result = await work(tx)
      await tx.query(end)
      return result
    } catch (error) {
      await tx.query('rollback')
      throw error
    } finally {
      tx.release()
    }
  }
  const count = async (table: string, where = 'true') =>
    Number((await pool.query(`select count(*) from ${table} where ${where}`)).rows[0].count)

  it('commits transfer and job together', async () => {
    const transfer = await inTransaction((tx) => engine.transfers.enqueue(tx, samplePayout('commits')))
    expect(transfer).toMatchObject({ reused: false, stage: 'queued', status: 'pending', attempt: 0 })
    expect(await engine.transfers.get(transfer.id)).toMatchObject({ id: transfer.id, request: transfer.request })
    expect(await readJobs(pool, transfer.id)).toMatchObject([{ state: 'waiting', isDue: true }])
  })

  it('leaves no transfer, no job and no wake-up behind a rollback', async () => {
    const listener = new pg.Client(database.url)
    await listener.connect()
    await listener.query('listen outlay_wake')
    let notified = 0
    listener.on('notification', () => {
      notified += 1
    })
    const jobs = await countJobs(pool)
    const transfer = await inTransaction((tx) => engine.transfers.enqueue(tx, samplePayout('rolls-back')), 'rollback')
    await inTransaction(
      (tx) => engine.transfers.enqueueMany(tx, [samplePayout('rolls-back'), samplePayout('rolls-back')]),
      'rollback',
    )
    expect(await engine.transfers.get(transfer.id)).toBeUndefined()
    expect(await count('outlay.transfer', `account_id = 'rolls-back'`)).toBe(0)
    expect(await countJobs(pool)).toBe(jobs)
    // Notifications come in the order of commits: this one comes after any that the rollbacks could have sent.
    await pool.query(`select pg_notify('outlay_wake', 'marker')`)
    await listener.query('select 1')
    expect(notified).toBe(1)
    await listener.end()
  })

  it('refuses by the rules before any SQL, so that the transaction stays usable', async () => {
    const id = await inTransaction(async (tx) => {
      const refused = samplePayout('refusal', {
        destination: { addressId: bank, valueType: 'USD', transferType: 'wire', wireMemo: 'x'.repeat(141) },
      })
      const error = await engine.transfers.enqueue(tx, refused).catch((caught: unknown) => caught)
      expect(OutlayError.is(error, 'wire_memo_too_long')).toBe(true)
      expect(error).toMatchObject({ field: 'destination.wireMemo' })
      return (await engine.transfers.enqueue(tx, samplePayout('refusal'))).id
    })
    expect(await engine.transfers.get(id)).toBeDefined()
    expect(await count('outlay.transfer', `account_id = 'refusal'`)).toBe(1)
  })

  it('gives the same transfer to the same key and request, and a typed error to another request', async () => {
    const first = await inTransaction((tx) =>
      engine.transfers.enqueue(tx, samplePayout('same', { idempotencyKey: 'k' })),
    )
    const again = await inTransaction(async (tx) => {
      const other = samplePayout('same', { idempotencyKey: 'k', amount: { value: '12.51', currency: 'USD' } })
      const error = await engine.transfers.enqueue(tx, other).catch((caught: unknown) => caught)
      expect(OutlayError.is(error, 'idempotency_key_mismatch')).toBe(true)
      return engine.transfers.enqueue(tx, samplePayout('same', { idempotencyKey: 'k' }))
    })
    expect(again).toMatchObject({ id: first.id, reused: true })
    const elsewhere = await inTransaction((tx) =>
      engine.transfers.enqueue(tx, samplePayout('other', { idempotencyKey: 'k' })),
    )
    expect(elsewhere.reused).toBe(false)
  })

  it('agrees on one transfer among 50 concurrent transactions with one key, and refuses the others', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        inTransaction((tx) => {
          const value = index % 5 === 0 ? '99.00' : '12.50'
          const request = samplePayout('race', { idempotencyKey: 'one', amount: { value, currency: 'USD' } })
          return engine.transfers.enqueue(tx, request)
        }),
      ),
    )
    const agreed = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(new Set(agreed.map((transfer) => transfer.id)).size).toBe(1)
    expect(agreed.filter((transfer) => !transfer.reused)).toHaveLength(1)
    expect([10, 40]).toContain(refused.length)
    expect(refused.every((error) => OutlayError.is(error, 'idempotency_key_mismatch'))).toBe(true)
    expect(await count('outlay.transfer', `account_id = 'race'`)).toBe(1)
  })

  it('writes many in order, reusing what is there', async () => {
    const requests = Array.from({ length: 500 }, (_, index) =>
      samplePayout('many', { idempotencyKey: `many-${index}` }),
    )
    const some = await inTransaction((tx) => engine.transfers.enqueueMany(tx, requests.slice(100, 200)))
    const all = await inTransaction((tx) => engine.transfers.enqueueMany(tx, [...requests, ...requests.slice(0, 3)]))
    expect(all.map((transfer) => transfer.idempotencyKey)).toEqual(
      [...requests, ...requests.slice(0, 3)].map((request) => request.idempotencyKey),
    )
    expect(all.slice(100, 200).map((transfer) => transfer.id)).toEqual(some.map((transfer) => transfer.id))
    expect(all.filter((transfer) => transfer.reused)).toHaveLength(103)
    expect(await count('outlay.transfer', `account_id = 'many'`)).toBe(500)
  })

  it('writes none of many when one of them has a key in use, and names it', async () => {
    await inTransaction((tx) => engine.transfers.enqueue(tx, samplePayout('none', { idempotencyKey: 'used' })))
    await inTransaction(async (tx) => {
      const other = samplePayout('none', { idempotencyKey: 'used', amount: { value: '1.00', currency: 'USD' } })
      const requests = [
        samplePayout('none', { idempotencyKey: 'a' }),
        other,
        samplePayout('none', { idempotencyKey: 'b' }),
      ]
      const error = await engine.transfers.enqueueMany(tx, requests).catch((caught: unknown) => caught)
      expect(OutlayError.is(error, 'idempotency_key_mismatch')).toBe(true)
      expect(error).toMatchObject({ field: '1.idempotencyKey' })
      const inBatch = [samplePayout('none', { idempotencyKey: 'c' }), { ...other, idempotencyKey: 'c' }]
      const twice = await engine.transfers.enqueueMany(tx, inBatch).catch((caught: unknown) => caught)
      expect(twice).toMatchObject({ code: 'idempotency_key_mismatch', field: '1.idempotencyKey' })
    })
    expect(await count('outlay.transfer', `account_id = 'none'`)).toBe(1)
  })

  it('names the index of a refused one among many', async () => {
    await inTransaction(async (tx) => {
      const bad = samplePayout('index', { amount: { value: '-1', currency: 'USD' } })
      const error = await engine.transfers
        .enqueueMany(tx, [samplePayout('index'), bad])
        .catch((caught: unknown) => caught)
      expect(error).toMatchObject({ field: '1.amount.value' })
    })
    expect(await count('outlay.transfer', `account_id = 'index'`)).toBe(0)
  })

  it('refuses an id that another transfer has', async () => {
    const first = await inTransaction((tx) => engine.transfers.enqueue(tx, samplePayout('ids')))
    await inTransaction(async (tx) => {
      const same = samplePayout('ids', { id: first.id, idempotencyKey: 'another' })
      const error = await engine.transfers.enqueue(tx, same).catch((caught: unknown) => caught)
      expect(error).toMatchObject({ code: 'conflict', field: 'id' })
      const many = [samplePayout('ids'), same, samplePayout('ids', { idempotencyKey: 'third' })]
      const refused = await engine.transfers.enqueueMany(tx, many).catch((caught: unknown) => caught)
      expect(refused).toMatchObject({ code: 'conflict', field: '1.id', issues: [{}] })
    })
    expect(await count('outlay.transfer', `account_id = 'ids'`)).toBe(1)
  })

  it('names every broken one of many up to a hundred, with all that is wrong with it', async () => {
    await inTransaction(async (tx) => {
      const bad = samplePayout('broken', { amount: { value: '-1', currency: 'USD' } })
      const worse = { ...bad, destination: { ...bad.destination, transferType: 'pigeon' } }
      const refuse = (requests: Parameters<typeof engine.transfers.enqueueMany>[1]) =>
        engine.transfers.enqueueMany(tx, requests).catch((caught: unknown) => caught)
      const error = await refuse([samplePayout('broken'), bad, samplePayout('broken'), worse])
      expect(OutlayError.is(error) && error.issues.map((issue) => issue.field)).toEqual([
        '1.amount.value',
        '3.destination.transferType',
        '3.amount.value',
      ])
      const all = await refuse(Array.from({ length: 2_500 }, () => bad))
      expect(OutlayError.is(all) && all.issues).toHaveLength(100)
      expect(await engine.transfers.enqueueMany(tx, [samplePayout('broken')])).toHaveLength(1)
    })
    expect(await count('outlay.transfer', `account_id = 'broken'`)).toBe(1)
  })
})
