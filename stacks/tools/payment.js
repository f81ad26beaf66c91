const { startOutlay } = require('@outlay/harness')

/** Pays in a harness of its own, on a PostgreSQL from npm, and returns what is left of 500. */
exports.payInHarness = async function payInHarness() {
  const outlay = await startOutlay()
  try {
    const account = await outlay.account({ funds: '500' })
    const payee = await outlay.payee(account)
    await outlay.transaction((tx) =>
      outlay.engine.transfers.enqueue(tx, {
        accountId: account.id,
        idempotencyKey: 'INV-1',
        amount: { value: '12.50', currency: 'USDC' },
        source: account.source(),
        destination: payee.destination(),
      }),
    )
    await outlay.assertEnqueued({ accountId: account.id, idempotencyKey: 'INV-1' })
    await outlay.drain()
    return await account.balance()
  } finally {
    await outlay.stop()
  }
}
