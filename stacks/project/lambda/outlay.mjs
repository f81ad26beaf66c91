// The same function, which pays in the transaction of the row.
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import pg from 'pg'

const { DATABASE_URL, SERVICE_URL, CLIENT_ID, CLIENT_SECRET, ACCOUNT_ID, WALLET_ID, PAYEE_ID } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL })
const engine = createEngine({
  backend: postgres({ driver: pgDriver(pool) }),
  gateway: httpGateway({
    keyLifetimeMs: outlayKeyLifetimeMs,
    baseUrl: SERVICE_URL,
    credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
  }),
})

async function handle(id) {
  const tx = await pool.connect()
  await tx.query('begin')
  await tx.query('insert into lambda_invoice (id) values ($1)', [id])
  await engine.transfers.enqueue(tx, {
    accountId: ACCOUNT_ID,
    idempotencyKey: id,
    amount: { value: '1.00', currency: 'USD' },
    source: { addressId: WALLET_ID, valueType: 'USDC', transferType: 'base' },
    destination: { addressId: PAYEE_ID, valueType: 'USDC', transferType: 'base' },
  })
  await tx.query('commit')
  const committedAt = performance.now()
  tx.release()
  return committedAt
}

handle(process.argv[2]).then((ms) => pool.end().then(() => console.log(ms)))
