// The same host as in payout.js, as ES modules: each has to load as a host would write it.
import { setTimeout as sleep } from 'node:timers/promises'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, OutlayError } from '@outlay/core'
import { httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import pg from 'pg'

/** Pays an invoice in a transaction, and returns the type of the event that its handler got. Throws when nothing was paid. */
export async function payInvoice(id) {
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
  await engine.migrate()
  const ends = new Map()
  engine.subscribe('invoices', ['transfer.completed', 'transfer.failed'], async ({ transferId, type }) => {
    ends.set(transferId, type)
  })
  await engine.start()
  const request = {
    accountId: ACCOUNT_ID,
    idempotencyKey: id,
    amount: { value: '12.50', currency: 'USD' },
    source: { addressId: WALLET_ID, valueType: 'USDC', transferType: 'base' },
    destination: { addressId: PAYEE_ID, valueType: 'USDC', transferType: 'base' },
  }
  const tx = await pool.connect()
  try {
    const refusal = await engine.transfers.enqueue(tx, request).catch((error) => error)
    if (!OutlayError.is(refusal, 'no_transaction'))
      throw new Error('Outside a transaction, a payout was not refused as one.', { cause: refusal })
    await tx.query('begin')
    const { id: transferId } = await engine.transfers.enqueue(tx, request)
    await tx.query('commit')
    while (!ends.has(transferId)) await sleep(50)
    const type = ends.get(transferId)
    if (type !== 'transfer.completed') throw new Error(`The invoice was not paid: ${type}.`)
    return type
  } finally {
    tx.release()
    await engine.stop()
    await pool.end()
  }
}
