import { type Engine, OutlayError } from '@outlay/core'
import express, { type ErrorRequestHandler, type Express } from 'express'
import type { Pool, PoolClient } from 'pg'
import type { Service } from './engine.ts'
import { inTransaction, type Purchase, type Refund } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly pool: Pool
  readonly engine: Engine<PoolClient>
  readonly service: Service
}

/** The requested refund. */
interface Refunding {
  readonly purchaseId: string
  readonly id: string
  /** In dollars; not checked yet. */
  readonly amount: string
}

/** Builds the application. The engine need not run. */
export function createApp(host: Host): Express {
  const { pool, engine } = host
  const app = express()

  // Before any JSON parser: the signature covers the received octets.
  app.post('/webhooks/outlay/:accountId', express.raw({ type: '*/*' }), async (request, response) => {
    const { body = '', headers, params } = request
    const { status } = await engine.webhook({ body, headers }, { accountId: params.accountId })
    response.status(status).end()
  })

  app.use(express.json())

  app.put('/purchases/:purchaseId/refunds/:id', async (request, response) => {
    const { purchaseId, id } = request.params
    const { amount = '' } = (request.body ?? {}) as { amount?: string }
    const made = await refundPurchase(host, { purchaseId, id, amount })
    response.status(202).json(made)
  })

  app.get('/purchases/:purchaseId/refunds/:id', async (request, response) => {
    const { purchaseId, id } = request.params
    const { rows } = await pool.query<Refund>('select * from refund where purchase_id = $1 and id = $2', [
      purchaseId,
      id,
    ])
    if (rows[0] === undefined) throw new Refusal(404, 'There is no such refund.')
    response.json(rows[0])
  })

  app.use(answerError)
  return app
}

/** Refunds money: the refund, the sum of refunds and the payout commit together. */
async function refundPurchase({ pool, engine, service }: Host, { purchaseId, id, amount }: Refunding) {
  return inTransaction(pool, async (tx) => {
    const found = await tx.query<Purchase>('select * from purchase where id = $1', [purchaseId])
    const [purchase] = found.rows
    if (purchase === undefined) throw new Refusal(404, 'There is no such purchase.')

    // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
    const transfer = await engine.transfers.enqueue(tx, {
      accountId: service.accountId,
      idempotencyKey: `refund/${purchaseId}/${id}`,
      amount: { value: amount, currency: 'USD' },
      source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: purchase.bank_id, valueType: 'USD', transferType: 'ach_credit' },
      note: `refund ${id}`,
    })
    if (transfer.reused) return findRefund(tx, transfer.id)

    // Then the host's rows. An error from here on rolls the payout back.
    await tx.query('insert into refund (id, purchase_id, amount, transfer_id) values ($1, $2, $3, $4)', [
      id,
      purchaseId,
      amount,
      transfer.id,
    ])
    const { rowCount } = await tx.query(
      'update purchase set refunded = refunded + $2 where id = $1 and refunded + $2 <= total',
      [purchaseId, amount],
    )
    if (rowCount === 0) throw new Refusal(409, 'That is more than was paid.')
    return findRefund(tx, transfer.id)
  })
}

async function findRefund(tx: PoolClient, transferId: string): Promise<Refund | undefined> {
  const { rows } = await tx.query<Refund>('select * from refund where transfer_id = $1', [transferId])
  return rows[0]
}

/** A request breaks a rule of the shop. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const answerError: ErrorRequestHandler = (error: Error & { status?: number }, _request, response, _next) => {
  // A refusal that names a field is the caller's error. Any other error is ours, unless it has a status.
  if (OutlayError.is(error) && error.field !== undefined) {
    response.status(422).json({ code: error.code, field: error.field, message: error.message })
  } else if (error.status !== undefined) {
    response.status(error.status).json({ message: error.message })
  } else {
    console.error(error)
    response.status(500).json({ message: 'Something went wrong here.' })
  }
}
