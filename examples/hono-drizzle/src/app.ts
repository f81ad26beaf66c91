import { type Engine, OutlayError } from '@outlay/core'
import { and, eq, gte, sql } from 'drizzle-orm'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { Service } from './engine.ts'
import { type Database, seller, type Transaction, withdrawal } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly db: Database
  readonly engine: Engine<Transaction>
  readonly service: Service
}

/** A seller's request. */
interface Withdrawing {
  readonly sellerId: string
  readonly id: string
  /** In dollars; not checked yet. */
  readonly amount: string
}

/** Builds the application. The engine need not run. */
export function createApp(host: Host): Hono {
  const { db, engine } = host
  const app = new Hono()

  app.put('/sellers/:sellerId/withdrawals/:id', async (c) => {
    const { sellerId, id } = c.req.param()
    const { amount = '' } = (await c.req.json<{ amount?: string } | null>()) ?? {}
    const made = await withdraw(host, { sellerId, id, amount })
    return c.json(made, 202)
  })

  app.get('/sellers/:sellerId/withdrawals/:id', async (c) => {
    const { sellerId, id } = c.req.param()
    const [row] = await db
      .select()
      .from(withdrawal)
      .where(and(eq(withdrawal.sellerId, sellerId), eq(withdrawal.id, id)))
    return row === undefined ? c.notFound() : c.json(row)
  })

  app.post('/webhooks/outlay/:accountId', async (c) => {
    const webhook = { body: new Uint8Array(await c.req.arrayBuffer()), headers: c.req.raw.headers }
    const { status } = await engine.webhook(webhook, { accountId: c.req.param('accountId') })
    return c.body(null, status)
  })

  app.onError((error, c) => {
    if (error instanceof HTTPException) return c.json({ message: error.message }, error.status)
    if (error instanceof SyntaxError) return c.json({ message: 'The body is not JSON.' }, 400)
    // A refusal that names a field is the caller's error. Any other error is ours.
    if (OutlayError.is(error) && error.field !== undefined) {
      return c.json({ code: error.code, field: error.field, message: error.message }, 422)
    }
    console.error(error)
    return c.json({ message: 'Something went wrong here.' }, 500)
  })
  return app
}

/** Withdraws money from a balance: the withdrawal, the balance and the payout commit together. */
async function withdraw({ db, engine, service }: Host, { sellerId, id, amount }: Withdrawing) {
  return db.transaction(async (tx) => {
    const [owner] = await tx.select().from(seller).where(eq(seller.id, sellerId))
    if (owner === undefined) throw new HTTPException(404, { message: 'There is no such seller.' })

    // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
    const transfer = await engine.transfers.enqueue(tx, {
      accountId: service.accountId,
      idempotencyKey: `withdrawal/${sellerId}/${id}`,
      amount: { value: amount, currency: 'USD' },
      source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: owner.bankId, valueType: 'USD', transferType: 'wire' },
      note: `withdrawal ${id}`,
    })
    if (transfer.reused) return findWithdrawal(tx, transfer.id)

    // Then the host's rows. An error from here on rolls the payout back.
    const [row] = await tx.insert(withdrawal).values({ id, sellerId, amount, transferId: transfer.id }).returning()
    const paid = await tx
      .update(seller)
      .set({ balance: sql`${seller.balance} - ${amount}` })
      .where(and(eq(seller.id, sellerId), gte(seller.balance, amount)))
    if (paid.rowCount === 0) throw new HTTPException(409, { message: 'The balance is less than that.' })
    return row
  })
}

async function findWithdrawal(tx: Transaction, transferId: string) {
  const [row] = await tx.select().from(withdrawal).where(eq(withdrawal.transferId, transferId))
  return row
}
