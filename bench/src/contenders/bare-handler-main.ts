/**
 * The least that a handler can do: the service's HTTP stack and pool, one statement a request, and nothing else. No
 * authentication, validation, idempotency, ledger, event or job. Reads DATABASE_URL: a copy of the service's database.
 */
import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { Client, Pool } from 'pg'
import { poolSize, requireEnv, serveProcess } from '../http-process.ts'

interface TransferBody {
  readonly amount: { readonly value: string; readonly currency: string }
  readonly source: LegBody
  readonly destination: LegBody
}

interface LegBody {
  readonly address_id: string
  readonly value_type: string
  readonly transfer_type: string
}

const pool = new Pool({ connectionString: requireEnv('DATABASE_URL'), max: poolSize, idleTimeoutMillis: 0 })
// What the service computes and stores in each row, so that rows are of the same size.
const plan = await readPlan()
const app = new Hono()

const insert = {
  name: 'insert_transfer',
  text: `insert into bare_transfer (id, account_id, status, flow, amount_value, amount_currency, source_address_id,
      source_value_type, source_transfer_type, destination_address_id, destination_value_type,
      destination_transfer_type, plan, reference_legs, created_at, updated_at)
    values ($1, $2, 'pending', 'payout', $3, $4, $5, $6, $7, $8, $9, $10, $11, 'both', $12, $12)`,
}

app.post('/accounts/:account/transfers', async (c) => {
  const { amount, source, destination } = await c.req.json<TransferBody>()
  const id = randomUUID().replaceAll('-', '').slice(0, 26)
  const now = new Date()
  const from = [source.address_id, source.value_type, source.transfer_type]
  const to = [destination.address_id, destination.value_type, destination.transfer_type]
  const values = [id, c.req.param('account'), amount.value, amount.currency, ...from, ...to, plan, now]
  await pool.query({ ...insert, values })
  return c.json({ id, status: 'pending', failure: null, amount, source, destination, created_at: now }, 201)
})

app.post('/replays/:client', async (c) => {
  const { rows } = await pool.query<{ response_body: string }>({
    name: 'select_replay',
    text: `select response_body from outlay_service.idempotency_key where client_id = $1 and idempotency_key = $2`,
    values: [c.req.param('client'), c.req.header('idempotency-key')],
  })
  return c.body(rows[0]?.response_body ?? '', 201, { 'content-type': 'application/json' })
})

app.get('/accounts/:account/transfers', async (c) => {
  const { rows } = await pool.query({
    name: 'select_page',
    text: 'select * from outlay_service.transfer where account_id = $1 order by id desc limit $2',
    values: [c.req.param('account'), c.req.query('page[size]')],
  })
  return c.json({ transfers: rows })
})

app.get('/accounts/:account/transfers/:transfer', async (c) => {
  const { rows } = await pool.query({
    name: 'select_transfer',
    text: 'select * from outlay_service.transfer where account_id = $1 and id = $2',
    values: [c.req.param('account'), c.req.param('transfer')],
  })
  return c.json(rows[0])
})

await serveProcess(pool, app.fetch, () => pool.end())

async function readPlan(): Promise<string | undefined> {
  const client = new Client({ connectionString: requireEnv('DATABASE_URL') })
  await client.connect()
  const { rows } = await client.query<{ plan: string }>('select plan::text from outlay_service.transfer limit 1')
  await client.end()
  return rows[0]?.plan
}
