import type { Pool, PoolClient } from '@neondatabase/serverless'
import { type Engine, OutlayError, type PostalAddress } from '@outlay/core'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { Service } from './engine.ts'
import { type Customer, inTransaction, type Remittance } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly pool: Pool
  readonly engine: Engine<PoolClient>
  readonly service: Service
}

/** Somebody with a bank account, whom nobody has paid before. */
interface Recipient {
  readonly name: string
  readonly accountNumber: string
  readonly routingNumber: string
  readonly address: PostalAddress
  readonly bankAddress: PostalAddress
}

/** A customer's request; what is in it is not checked yet. */
interface Sending {
  readonly customerId: string
  readonly id: string
  /** In dollars. */
  readonly amount: string
  readonly recipient: Recipient
}

/** Builds the application. The engine need not run: a function that serves one request can be made of it. */
export function createApp(host: Host): Hono {
  const { pool, engine } = host
  const app = new Hono()

  app.put('/customers/:customerId/remittances/:id', async (c) => {
    const { customerId, id } = c.req.param()
    const { amount = '', recipient } = (await c.req.json<Partial<Sending> | null>()) ?? {}
    if (typeof recipient?.name !== 'string') throw new HTTPException(422, { message: 'Say who gets the money.' })
    return c.json(await sendMoney(host, { customerId, id, amount, recipient }), 202)
  })

  app.get('/customers/:customerId/remittances/:id', async (c) => {
    const { customerId, id } = c.req.param()
    const { rows } = await pool.query<Remittance>('select * from remittance where customer_id = $1 and id = $2', [
      customerId,
      id,
    ])
    return rows[0] === undefined ? c.notFound() : c.json(rows[0])
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

/** Sends money to a new recipient: the recipient, the remittance, the balance and the payout commit together. */
async function sendMoney({ pool, engine, service }: Host, { customerId, id, amount, recipient }: Sending) {
  return inTransaction(pool, async (tx) => {
    const found = await tx.query<Customer>('select * from customer where id = $1', [customerId])
    if (found.rows[0] === undefined) throw new HTTPException(404, { message: 'There is no such customer.' })

    // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
    const transfer = await engine.transfers.enqueue(tx, {
      accountId: service.accountId,
      idempotencyKey: `remittance/${customerId}/${id}`,
      amount: { value: amount, currency: 'USD' },
      source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
      // The account itself, and no id: a worker registers it at the service first, once for all that is ever sent there.
      destination: {
        address: {
          name: recipient.name,
          owner: recipient.name,
          accountNumber: recipient.accountNumber,
          routingNumber: recipient.routingNumber,
          accountType: 'checking',
          beneficiaryAddress: recipient.address,
          bankAddress: recipient.bankAddress,
          transferTypes: ['wire'],
        },
        valueType: 'USD',
        transferType: 'wire',
      },
      note: `remittance ${id}`,
    })
    if (transfer.reused) return findRemittance(tx, transfer.id)

    // Then the host's rows. An error from here on rolls the payout back, and nobody is registered.
    await tx.query(
      'insert into remittance (id, customer_id, amount, recipient, transfer_id) values ($1, $2, $3, $4, $5)',
      [id, customerId, amount, recipient.name, transfer.id],
    )
    const { rowCount } = await tx.query('update customer set balance = balance - $2 where id = $1 and balance >= $2', [
      customerId,
      amount,
    ])
    if (rowCount === 0) throw new HTTPException(409, { message: 'The balance is less than that.' })
    return findRemittance(tx, transfer.id)
  })
}

async function findRemittance(tx: PoolClient, transferId: string): Promise<Remittance | undefined> {
  const { rows } = await tx.query<Remittance>('select * from remittance where transfer_id = $1', [transferId])
  return rows[0]
}
