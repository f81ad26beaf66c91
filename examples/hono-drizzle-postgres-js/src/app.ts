import { type Engine, OutlayError } from '@outlay/core'
import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { Service } from './engine.ts'
import { type Drizzle, employee, expense, type Transaction } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly db: Drizzle
  readonly engine: Engine<Transaction>
  readonly service: Service
}

/** An employee's request. */
interface Spending {
  readonly id: string
  readonly employeeId: string
  /** In dollars; not checked yet. */
  readonly amount: string
}

/** Builds the application. The engine need not run. Who asks and who decides come from the session, in a real one. */
export function createApp(host: Host): Hono {
  const { db, engine } = host
  const app = new Hono()

  app.put('/expenses/:id', async (c) => {
    const { employeeId = '', amount = '' } = await c.req.json<{ employeeId?: string; amount?: string }>()
    return c.json(await claim(host, { id: c.req.param('id'), employeeId, amount }), 202)
  })

  app.get('/expenses/:id', async (c) => {
    const [row] = await db
      .select()
      .from(expense)
      .where(eq(expense.id, c.req.param('id')))
    return row === undefined ? c.notFound() : c.json(row)
  })

  app.post('/expenses/:id/approval', async (c) => {
    const { by = '' } = await c.req.json<{ by?: string }>()
    return c.json(await approve(host, c.req.param('id'), by))
  })

  app.post('/expenses/:id/rejection', async (c) => {
    const { by = '', reason = '' } = await c.req.json<{ by?: string; reason?: string }>()
    return c.json(await reject(host, c.req.param('id'), by, reason))
  })

  app.post('/webhooks/outlay/:accountId', async (c) => {
    const webhook = { body: new Uint8Array(await c.req.arrayBuffer()), headers: c.req.raw.headers }
    const { status } = await engine.webhook(webhook, { accountId: c.req.param('accountId') })
    return c.body(null, status)
  })

  app.onError((error, c) => {
    if (error instanceof HTTPException) return c.json({ message: error.message }, error.status)
    if (error instanceof SyntaxError) return c.json({ message: 'The body is not JSON.' }, 400)
    if (OutlayError.is(error, 'approval_refused')) return c.json({ code: error.code, message: error.message }, 403)
    if (OutlayError.is(error, 'conflict') || OutlayError.is(error, 'transfer_not_cancelable')) {
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

/** Claims an expense: its row and its payout commit together. A policy of the engine holds one that somebody has to approve. */
async function claim({ db, engine, service }: Host, { id, employeeId, amount }: Spending) {
  return db.transaction(async (tx) => {
    const { bankId } = await findEmployee(tx, employeeId)
    // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
    const transfer = await engine.transfers.enqueue(tx, {
      accountId: service.accountId,
      idempotencyKey: `expense/${id}`,
      amount: { value: amount, currency: 'USD' },
      source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: bankId, valueType: 'USD', transferType: 'wire' },
      note: `expense ${id}`,
      createdBy: employeeId,
    })
    // Then the host's row. An error from here on rolls the payout back.
    if (!transfer.reused) {
      const status = transfer.stage === 'held' ? 'waits_for_approval' : 'on_its_way'
      await tx.insert(expense).values({ id, employeeId, amount, status, transferId: transfer.id })
    }
    return findExpense(tx, id)
  })
}

/** Approves an expense: the approval and its row commit together. The engine refuses its creator, and who has not the role. */
async function approve({ db, engine }: Host, id: string, by: string) {
  return db.transaction(async (tx) => {
    const { transferId } = await findExpense(tx, id)
    const { role } = await findEmployee(tx, by)
    const { released } = await engine.transfers.approve(tx, transferId, { actor: by, roles: [role] })
    if (released) await tx.update(expense).set({ status: 'on_its_way', decidedBy: by }).where(eq(expense.id, id))
    return findExpense(tx, id)
  })
}

/** Rejects an expense. Its payout is canceled for good, in the same transaction. */
async function reject({ db, engine }: Host, id: string, by: string, reason: string) {
  return db.transaction(async (tx) => {
    const { transferId } = await findExpense(tx, id)
    const { role } = await findEmployee(tx, by)
    if (role !== 'finance') throw new HTTPException(403, { message: 'The finance department rejects expenses.' })
    await engine.transfers.reject(tx, transferId, { actor: by, reason })
    await tx.update(expense).set({ status: 'rejected', decidedBy: by }).where(eq(expense.id, id))
    return findExpense(tx, id)
  })
}

async function findExpense(tx: Transaction, id: string) {
  const [row] = await tx.select().from(expense).where(eq(expense.id, id))
  if (row === undefined) throw new HTTPException(404, { message: 'There is no such expense.' })
  return row
}

async function findEmployee(tx: Transaction, id: string) {
  const [row] = await tx.select().from(employee).where(eq(employee.id, id))
  if (row === undefined) throw new HTTPException(404, { message: 'There is no such employee.' })
  return row
}
