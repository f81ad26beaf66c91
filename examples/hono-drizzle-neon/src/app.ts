import { type Engine, OutlayError } from '@outlay/core'
import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { Service } from './engine.ts'
import { type Database, shift, type Transaction, worker } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly db: Database
  readonly engine: Engine<Transaction>
  readonly service: Service
}

/** A shift that a manager confirms. */
interface Confirming {
  readonly id: string
  readonly workerId: string
  readonly minutes: number
  /** When it is paid; undefined for at once. Not checked yet. */
  readonly paysAt: string | undefined
}

/** Builds the application. The engine need not run. */
export function createApp(host: Host): Hono {
  const { db, engine } = host
  const app = new Hono()

  app.put('/shifts/:id', async (c) => {
    const { workerId = '', minutes = 0, paysAt } = await c.req.json<Partial<Omit<Confirming, 'id'>>>()
    return c.json(await confirm(host, { id: c.req.param('id'), workerId, minutes, paysAt }), 202)
  })

  app.get('/shifts/:id', async (c) => {
    const [row] = await db
      .select()
      .from(shift)
      .where(eq(shift.id, c.req.param('id')))
    return row === undefined ? c.notFound() : c.json(row)
  })

  app.delete('/shifts/:id/payment', async (c) => c.json(await withdraw(host, c.req.param('id'))))

  app.post('/webhooks/outlay/:accountId', async (c) => {
    const webhook = { body: new Uint8Array(await c.req.arrayBuffer()), headers: c.req.raw.headers }
    const { status } = await engine.webhook(webhook, { accountId: c.req.param('accountId') })
    return c.body(null, status)
  })

  app.onError((error, c) => {
    if (error instanceof HTTPException) return c.json({ message: error.message }, error.status)
    if (error instanceof SyntaxError) return c.json({ message: 'The body is not JSON.' }, 400)
    if (OutlayError.is(error, 'transfer_not_cancelable')) {
      return c.json({ code: error.code, message: error.message }, 409)
    }
    // A refusal that names a field is the caller's error. Any other error is ours.
    if (OutlayError.is(error) && error.field !== undefined) {
      return c.json({ code: error.code, field: error.field, message: error.message }, 422)
    }
    console.error(error)
    return c.json({ message: 'Something went wrong here.' }, 500)
  })
  return app
}

/** Confirms a shift: the shift and its payout, which waits for its moment, commit together. */
async function confirm({ db, engine, service }: Host, { id, workerId, minutes, paysAt }: Confirming) {
  const at = paysAt === undefined ? new Date() : new Date(paysAt)
  if (Number.isNaN(at.getTime())) throw new HTTPException(422, { message: 'paysAt is no moment.' })
  return db.transaction(async (tx) => {
    const [who] = await tx.select().from(worker).where(eq(worker.id, workerId))
    if (who === undefined) throw new HTTPException(404, { message: 'There is no such worker.' })
    const amount = payOf(who.payPerHour, minutes)

    // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
    const transfer = await engine.transfers.enqueue(tx, {
      accountId: service.accountId,
      idempotencyKey: `shift/${id}`,
      amount: { value: amount, currency: 'USD' },
      source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: who.bankId, valueType: 'USD', transferType: 'wire' },
      note: `shift ${id}`,
      ...(paysAt === undefined ? {} : { notBefore: at }),
    })
    // Then the host's row. An error from here on rolls the payout back.
    if (!transfer.reused) {
      await tx.insert(shift).values({ id, workerId, minutes, amount, paysAt: at, transferId: transfer.id })
    }
    return findShift(tx, id)
  })
}

/** Withdraws the payment of a shift, as long as nothing has left. */
async function withdraw({ db, engine }: Host, id: string) {
  return db.transaction(async (tx) => {
    const { transferId } = await findShift(tx, id)
    await engine.transfers.cancel(tx, transferId)
    const [row] = await tx.update(shift).set({ status: 'withdrawn' }).where(eq(shift.id, id)).returning()
    return row
  })
}

/** In dollars, rounded to the cent in the worker's favor. The cents of an hour are an integer, so nothing is lost on the way. */
function payOf(payPerHour: string, minutes: number): string {
  const cents = BigInt(payPerHour.replace('.', '')) * BigInt(minutes)
  const rounded = (cents + 59n) / 60n
  return `${rounded / 100n}.${String(rounded % 100n).padStart(2, '0')}`
}

async function findShift(tx: Transaction, id: string) {
  const [row] = await tx.select().from(shift).where(eq(shift.id, id))
  if (row === undefined) throw new HTTPException(404, { message: 'There is no such shift.' })
  return row
}
