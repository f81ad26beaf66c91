import { type Engine, OutlayError } from '@outlay/core'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { TransactionSql } from 'postgres'
import type { Service } from './engine.ts'
import type { Database, Day, Settlement } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly database: Database
  readonly engine: Engine<TransactionSql>
  readonly service: Service
}

/** Builds the application. The engine need not run. */
export function createApp(host: Host): Hono {
  const { database, engine, service } = host
  const app = new Hono()

  app.post('/days/:day/settlement', async (c) => c.json(await settleDay(host, c.req.param('day')), 202))

  app.get('/days/:day', async (c) => {
    const [day] = await database.sql<Day[]>`select * from day where id = ${c.req.param('day')}`
    if (day === undefined) return c.notFound()
    const batch = day.batch_id === null ? undefined : await engine.batches.get(day.batch_id)
    return c.json({ id: day.id, settledAt: day.settled_at, payouts: batch?.counts ?? null })
  })

  // What support asks: where is the money of this merchant? The answer comes from the engine, by the metadata of its transfers.
  app.get('/merchants/:id/payouts', async (c) => {
    const { cursor, limit = '20' } = c.req.query()
    const { transfers, nextCursor } = await engine.transfers.find({
      accountId: service.accountId,
      metadata: { merchant: c.req.param('id') },
      limit: Number(limit),
      cursor,
    })
    const payouts = transfers.map(({ metadata, request, status, failure }) => ({
      day: metadata?.day,
      amount: request.amount.value,
      status,
      reason: failure?.detail,
    }))
    return c.json({ payouts, nextCursor })
  })

  app.post('/webhooks/outlay/:accountId', async (c) => {
    const webhook = { body: new Uint8Array(await c.req.arrayBuffer()), headers: c.req.raw.headers }
    const { status } = await engine.webhook(webhook, { accountId: c.req.param('accountId') })
    return c.body(null, status)
  })

  app.onError((error, c) => {
    if (error instanceof HTTPException) return c.json({ message: error.message }, error.status)
    // A refusal that names a field is the caller's error. Any other error is ours.
    if (OutlayError.is(error) && error.field !== undefined) {
      return c.json({ code: error.code, field: error.field, message: error.message }, 422)
    }
    console.error(error)
    return c.json({ message: 'Something went wrong here.' }, 500)
  })
  return app
}

/** Pays every merchant its sales of a day: the batch, all payouts and all settlements commit together, or none. */
async function settleDay({ database, engine, service }: Host, day: string) {
  return database.sql.begin(async (tx) => {
    const [found] = await tx<Day[]>`select * from day where id = ${day}`
    if (found === undefined) throw new HTTPException(404, { message: 'There is no such day.' })

    // The batch has the day as its key: who settles it again, at once or later, gets the first batch, which is closed.
    const batch = await engine.batches.create(tx, { accountId: service.accountId, key: `settlement/${day}` })
    if (batch.state !== 'open') return readSettlements(tx, day)

    const dues = await tx<{ id: string; bank_id: string; total: string }[]>`
      select merchant.id, merchant.bank_id, sum(sale.amount) as total
        from sale join merchant on merchant.id = sale.merchant_id
       where sale.day_id = ${day} group by merchant.id order by merchant.id`
    if (dues.length === 0) throw new HTTPException(409, { message: 'Nothing was sold on that day.' })

    const transfers = await engine.transfers.enqueueMany(
      tx,
      dues.map(({ id, bank_id, total }) => ({
        accountId: service.accountId,
        idempotencyKey: `settlement/${day}/${id}`,
        amount: { value: total, currency: 'USD' },
        source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
        destination: { addressId: bank_id, valueType: 'USD', transferType: 'wire' },
        note: `settlement ${day} ${id}`,
        batchId: batch.id,
        metadata: { day, merchant: id },
      })),
    )
    // The batch takes no more: it completes when the last of these has ended.
    await engine.batches.close(tx, batch.id)

    // Then the host's rows. An error from here on rolls batch and payouts back.
    const rows = dues.map(({ id, total }, index) => ({
      day_id: day,
      merchant_id: id,
      amount: total,
      transfer_id: transfers[index]?.id ?? '',
    }))
    await tx`insert into settlement ${tx(rows)}`
    const { count } = await tx`
      update day set batch_id = ${batch.id}
       where id = ${day} and received >= (select sum(amount) from settlement where day_id = ${day})`
    if (count === 0) throw new HTTPException(409, { message: 'The card schemes have not paid that much for the day.' })
    return readSettlements(tx, day)
  })
}

const readSettlements = (tx: TransactionSql, day: string): Promise<readonly Settlement[]> =>
  tx<Settlement[]>`select * from settlement where day_id = ${day} order by merchant_id`
