import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { testCancellations } from '../../test/cancellations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { inTransaction } from '../context.ts'
import { keepHouse } from '../housekeeping.ts'
import { expireTransfers } from './expiry.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let transfers: ReturnType<typeof testCancellations>
beforeAll(async () => {
  api = await testSandbox(database.url)
  transfers = testCancellations(api)
  await api.call('POST', `/accounts/${api.accountId}/webhooks`, {
    body: { url: 'http://127.0.0.1:9/', event_types: ['*'] },
  })
})
afterAll(() => api.stop())

const days = 24 * 3_600_000
/** Ends what is over time at a later time. */
const expireIn = (ms: number, more: object = {}) => {
  const { context } = api.sandbox.service
  const now = () => new Date(Date.now() + ms)
  return expireTransfers({ ...context, ...more, clock: { now } })
}
const expiryOf = async (id: string) => {
  const { pool, schema } = api.sandbox.service.context
  return (await inspect(pool).query(`select expires_at from ${schema}.transfer where id = $1`, [id])).rows[0].expires_at
}

/** One that another transaction works on is left to the next time. */
const forgets = (id: string) =>
  vi.waitFor(
    async () => {
      await expireIn(15 * days)
      expect(await expiryOf(id)).toBeNull()
    },
    { timeout: 60_000 },
  )

it('an inbound wire that does not come within two weeks is canceled, and one that came is not', async () => {
  const [late, came] = [await transfers.expectWire(), await transfers.expectWire()]
  expect((await transfers.arrive(came)).status).toBe(202)
  await transfers.reaches(came, 'processing')
  await expireIn(13 * days)
  expect((await transfers.read(late)).status).toBe('pending')
  await expireIn(15 * days)
  expect((await transfers.read(late)).status).toBe('canceled')
  expect(await transfers.events(late)).toEqual(['transfer.created', 'transfer.canceled'])
  expect((await transfers.arrive(late)).status).toBe(409)
  expect((await transfers.read(came)).status).toBe('processing')
  await forgets(late)
  await forgets(came)
})

it('what the rail does not cancel now stays pending, delays no other, and is canceled later', async () => {
  const [stuck, other] = [await transfers.expectWire(), await transfers.expectWire()]
  const { rails } = api.sandbox.service.context
  const failing = {
    ...rails,
    cancel: async (...given: Parameters<typeof rails.cancel>) => {
      if (given[0] === stuck) throw new Error('Not now.')
      return await rails.cancel(...given)
    },
  }
  await expireIn(15 * days, { rails: failing })
  expect([(await transfers.read(stuck)).status, (await transfers.read(other)).status]).toEqual(['pending', 'canceled'])
  await expireIn(15 * days)
  expect((await transfers.read(stuck)).status).toBe('canceled')
})

it('what is no longer pending and another transaction works on does not keep the others waiting', async () => {
  const [busy, late] = [await transfers.expectWire(), await transfers.expectWire()]
  expect((await transfers.arrive(busy)).status).toBe(202)
  await transfers.reaches(busy, 'processing')
  const { context } = api.sandbox.service
  await inTransaction(context, async (tx) => {
    await tx.query(`select from ${context.schema}.transfer where id = $1 for no key update`, [busy])
    await expireIn(15 * days)
  })
  expect((await transfers.read(late)).status).toBe('canceled')
  expect(await expiryOf(busy)).toEqual(expect.any(Date))
  await forgets(busy)
})

it('the time is an option of each rail', async () => {
  const { context } = api.sandbox.service
  const options = context as { transferExpiryHours?: object }
  options.transferExpiryHours = { wire: 1 }
  const soon = await transfers.expectWire()
  options.transferExpiryHours = { wire: null }
  const never = await transfers.expectWire()
  delete options.transferExpiryHours
  await expireIn(2 * 3_600_000)
  expect((await transfers.read(soon)).status).toBe('canceled')
  await expireIn(10_000 * days)
  expect([await expiryOf(never), (await transfers.read(never)).status]).toEqual([null, 'pending'])
})

it('is part of housekeeping', async () => {
  const { context } = api.sandbox.service
  const id = await transfers.expectWire()
  await inspect(context.pool).query(
    `update ${context.schema}.transfer set expires_at = now() - interval '1 minute' where id = $1`,
    [id],
  )
  await keepHouse(context)
  expect((await transfers.read(id)).status).toBe('canceled')
})

it('a rail that hangs keeps no transfer of another rail pending', async () => {
  const { context } = api.sandbox.service
  const wires = await Promise.all(Array.from({ length: 21 }, () => transfers.expectWire()))
  const other = wires.pop() ?? ''
  await inspect(context.pool).query(
    `update ${context.schema}.transfer set source_transfer_type = 'spei', expires_at = expires_at + interval '1 hour' where id = $1`,
    [other],
  )
  const { rails } = context
  const isOther = Promise.withResolvers<void>()
  const hanging = {
    ...rails,
    cancel: async (...given: Parameters<typeof rails.cancel>) => {
      if (given[0] !== other) await isOther.promise
      try {
        return await rails.cancel(...given)
      } finally {
        if (given[0] === other) isOther.resolve()
      }
    },
  }
  await expireIn(15 * days, { rails: hanging, railTimeoutMs: 120_000 })
  for (const id of [...wires, other]) expect((await transfers.read(id)).status).toBe('canceled')
})

it('a rail that does not answer is left after some transfers, and asked about those behind them the next time', async () => {
  const { context } = api.sandbox.service
  const { pool, schema } = context
  const model = await transfers.expectWire()
  const { rows } = await inspect(pool).query(
    `insert into ${schema}.transfer
     select c.* from ${schema}.transfer t
      cross join generate_series(1, 65) n
      cross join lateral jsonb_populate_record(t, jsonb_build_object('id', left(t.id, 23) || lpad(n::text, 3, '0'), 'source_transfer_type', 'spei')) c
      where t.id = $1 returning id`,
    [model],
  )
  const asked: string[] = []
  const silent = {
    ...context.rails,
    cancel: async (id: string) => {
      asked.push(id)
      return await new Promise<never>(() => undefined)
    },
  }
  const more = { rails: silent, railTimeoutMs: 500 }
  await expireIn(15 * days, more)
  const first = asked.filter((id) => id !== model).length
  expect(first).toBeLessThanOrEqual(60)
  await expireIn(15 * days, more)
  expect(new Set(asked.filter((id) => id !== model)).size).toBeGreaterThan(first)
  await inspect(pool).query(`delete from ${schema}.transfer where id = any ($1)`, [rows.map(({ id }) => id)])
})

it('a transfer that another transaction has locked keeps no other one pending', async () => {
  const [locked, other] = [await transfers.expectWire(), await transfers.expectWire()]
  const { context } = api.sandbox.service
  await inTransaction(context, async (tx) => {
    await tx.query(`select from ${context.schema}.transfer where id = $1 for update`, [locked])
    await expireIn(15 * days)
    expect((await transfers.read(other)).status).toBe('canceled')
  })
  await expireIn(15 * days)
  expect((await transfers.read(locked)).status).toBe('canceled')
})

it('a row that another transaction has locked stops no other part of housekeeping', async () => {
  const { context } = api.sandbox.service
  const id = await transfers.expectWire()
  const { query } = inspect(context.pool)
  await query(`update ${context.schema}.transfer set expires_at = now() - interval '1 minute' where id = $1`, [id])
  await query(
    `insert into ${context.schema}.access_token (digest, client_id, scopes, expires_at, created_at)
     select '\\x00', client_id, scopes, now() - interval '1 day', now() from ${context.schema}.access_token limit 1`,
  )
  await query(
    `insert into ${context.schema}.webhook_endpoint (key, tolerance, longest_hold_ms, failures, holds, held_until)
     values ('gone', 8, 1, 1, 0, now() - interval '30 days')`,
  )
  await inTransaction(context, async (tx) => {
    await tx.query(`select from ${context.schema}.access_token where digest = '\\x00' for update`)
    await expect(keepHouse(context)).rejects.toMatchObject({ code: '55P03' })
  })
  expect((await transfers.read(id)).status).toBe('canceled')
  expect((await query(`select from ${context.schema}.webhook_endpoint where key = 'gone'`)).rowCount).toBe(0)
  await keepHouse(context)
})
