const { setTimeout: sleep } = require('node:timers/promises')
const { pgDriver, postgres } = require('@outlay/adapters-pg')
const { createEngine, OutlayError } = require('@outlay/core')
const { httpGateway, outlayKeyLifetimeMs } = require('@outlay/http-client')
const { Pool } = require('pg')

/** node-postgres: its driver, a handle outside of a transaction, and its way to run one. */
async function openPg(url) {
  const pool = new Pool({ connectionString: url })
  const outside = await pool.connect()
  return {
    driver: pgDriver(pool),
    outside,
    async transaction(work) {
      await outside.query('begin')
      const result = await work(outside)
      await outside.query('commit')
      return result
    },
    close() {
      outside.release()
      return pool.end()
    },
  }
}

/** Pays an invoice in a transaction of a library, and returns the type of the event that its handler got. Throws when nothing was paid. */
exports.payInvoice = async function payInvoice(id, open = openPg) {
  const { DATABASE_URL, SERVICE_URL, CLIENT_ID, CLIENT_SECRET, ACCOUNT_ID, WALLET_ID, PAYEE_ID } = process.env
  const library = await open(DATABASE_URL)
  const engine = createEngine({
    backend: postgres({ driver: library.driver }),
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
  try {
    const refusal = await engine.transfers.enqueue(library.outside, request).catch((error) => error)
    if (!OutlayError.is(refusal, 'no_transaction'))
      throw new Error('Outside a transaction, a payout was not refused as one.', { cause: refusal })
    const { id: transferId } = await library.transaction((tx) => engine.transfers.enqueue(tx, request))
    while (!ends.has(transferId)) await sleep(50)
    const type = ends.get(transferId)
    if (type !== 'transfer.completed') throw new Error(`The invoice was not paid: ${type}.`)
    return type
  } finally {
    await engine.stop()
    await library.close()
  }
}
