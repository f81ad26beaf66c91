import { addresses, spawnNode, usBankAccount, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { type EmbeddedOutlay, type EmbeddedOutlayOptions, startOutlay } from './outlay.ts'

describe('a harness', async () => {
  const { adminUrl } = await testDatabase()
  const start = (options: EmbeddedOutlayOptions = {}) => startOutlay({ ...options, postgres: { url: adminUrl } })
  const pay = async (outlay: EmbeddedOutlay, options: Parameters<EmbeddedOutlay['account']>[0] = {}) => {
    const account = await outlay.account(options)
    const payee = await outlay.payee(account)
    const enqueue = (value: string, destination = payee.destination()) =>
      outlay.transaction((tx) =>
        outlay.engine.transfers.enqueue(tx, {
          accountId: account.id,
          amount: { value, currency: destination.valueType },
          source: account.source(),
          destination,
        }),
      )
    return { account, payee, enqueue }
  }

  const outlay = await start()
  afterAll(() => outlay.stop())

  it('gives each test its own accounts, and finds only committed transfers', async () => {
    const [one, other] = await Promise.all([pay(outlay, { funds: '10' }), pay(outlay, { funds: '20' })])
    const rolledBack = outlay.transaction(async (tx) => {
      await outlay.engine.transfers.enqueue(tx, {
        accountId: one.account.id,
        amount: { value: '1', currency: 'USDC' },
        source: one.account.source(),
        destination: one.payee.destination(),
      })
      throw new Error('No.')
    })
    await expect(rolledBack).rejects.toThrow('No.')
    await one.enqueue('4')
    await other.enqueue('5')
    await outlay.assertEnqueued({ accountId: one.account.id, amount: '4.00', destination: one.payee.destination() })
    await expect(outlay.assertEnqueued({ accountId: one.account.id, amount: '5' })).rejects.toThrow(/"4", not "5"/)
    await outlay.assertEnqueuedCount({ accountId: other.account.id }, 1)
    expect(await outlay.enqueued()).toHaveLength(2)
    await outlay.drain()
    expect([await one.account.balance(), await other.account.balance()]).toEqual(['6.00', '15.00'])
  })

  it('moves time, and the engine has polled when it has moved', async () => {
    const { account, enqueue } = await pay(outlay)
    const bank = await outlay.payee(account, usBankAccount)
    const { id } = await enqueue('100.00', bank.destination('USD', 'wire'))
    const status = async () => (await outlay.engine.transfers.get(id))?.status
    await outlay.advance('1 hour')
    expect(await status()).toBe('processing')
    await outlay.advance('1 week')
    expect(await status()).toBe('complete')
  })

  it('ends a transfer as the test asks', async () => {
    const { account, enqueue } = await pay(outlay)
    const bank = await outlay.payee(account, usBankAccount)
    const ach = bank.destination('USD', 'ach_credit')
    const party = { name: 'Bob', address: addresses.canton[0], transferTypes: ['canton'] }
    expect(await outlay.settle(await enqueue('1.00', ach), 'complete')).toMatchObject({ status: 'complete' })
    expect(await outlay.settle(await enqueue('2.00', ach), { return: 'R03' })).toMatchObject({
      status: 'failed',
      failure: { type: 'returned', code: 'R03' },
    })
    const rejected = await outlay.settle((await enqueue('3')).id, { reject: 'closed', detail: 'It is closed.' })
    expect(rejected.failure).toMatchObject({ code: 'closed', detail: 'It is closed.' })
    await outlay.deposit(account, { valueType: 'USDC', transferType: 'canton', amount: '9' })
    const canton = (await outlay.payee(account, party)).destination('USDC', 'canton')
    const offered = await outlay.transaction((tx) =>
      outlay.engine.transfers.enqueue(tx, {
        accountId: account.id,
        amount: { value: '4', currency: 'USDC' },
        source: account.source('USDC', 'canton'),
        destination: canton,
      }),
    )
    expect(await outlay.settle(offered, 'accepted')).toMatchObject({ status: 'complete' })
    const inbound = await outlay.transaction((tx) =>
      outlay.engine.transfers.enqueue(tx, {
        accountId: account.id,
        amount: { value: '50.00', currency: 'USD' },
        source: { valueType: 'USD', transferType: 'wire' },
        destination: account.source(),
      }),
    )
    await outlay.advance('1 week')
    expect(await outlay.engine.transfers.get(inbound.id)).toMatchObject({ status: 'pending' })
    await outlay.settle(inbound, 'wire_received')
    await outlay.advance('1 week')
    expect(await outlay.engine.transfers.get(inbound.id)).toMatchObject({ status: 'complete' })
  })

  it('loses, fails and holds answers between engine and service, with one effect', async () => {
    const { account, enqueue } = await pay(outlay, { funds: '100' })
    const rules = [outlay.faults.dropAnswer(), outlay.faults.failAfterCommit(), outlay.faults.refuse()]
    const { id } = await enqueue('10')
    await outlay.drain()
    expect(rules.map(({ applied }) => applied)).toEqual([1, 1, 1])
    expect(await outlay.engine.transfers.get(id)).toMatchObject({ status: 'complete', attempt: 4 })

    const held = outlay.faults.hold()
    const second = await enqueue('10')
    await held.waitFor(1)
    expect(await outlay.engine.transfers.get(second.id)).toMatchObject({ stage: 'submitting' })
    held.release()
    await outlay.drain()
    expect(await account.balance()).toBe('80.00')
  })

  it('empties a wallet and fills it again', async () => {
    const { account, enqueue } = await pay(outlay, { funds: [] })
    const { id } = await enqueue('10')
    await waitUntil(async () => (await outlay.engine.transfers.get(id))?.stage === 'awaiting_funds', {
      timeoutMs: 60_000,
    })
    await outlay.deposit(account, '15')
    await outlay.transaction((tx) => outlay.engine.accounts.fundsArrived(tx, account.id))
    await outlay.drain()
    expect(await account.balance()).toBe('5.00')
  })

  it('does not send enqueued transfers when start is false', async () => {
    await using resting = await start({ start: false })
    const { enqueue } = await pay(resting)
    await enqueue('10')
    await resting.advance('1 day')
    await resting.assertEnqueued({ stage: 'queued' })
    await resting.engine.start()
    await resting.drain()
    await resting.assertEnqueued({ stage: 'settled', status: 'complete' })
  })

  it('refuses to move time while something is still being sent', async () => {
    const { account, enqueue } = await pay(outlay)
    await outlay.transaction((tx) => outlay.engine.accounts.pause(tx, account.id))
    await enqueue('10')
    await outlay.advance('1 hour', { afterSending: false })
    await expect(outlay.advance('1 hour', { timeoutMs: 50 })).rejects.toThrow(/everything to be sent/)
    await outlay.transaction((tx) => outlay.engine.accounts.resume(tx, account.id))
    await outlay.drain()
  })

  it('stops although an answer is held, twice, and leaves no database behind', async () => {
    const stopped = await start()
    const { enqueue } = await pay(stopped)
    const held = stopped.faults.hold()
    await enqueue('10')
    await held.waitFor(1)
    await stopped.stop()
    await stopped.stop()
    const made = [stopped.pool, stopped.sandbox.service.context.pool].map(({ options }) =>
      new URL(options.connectionString ?? '').pathname.slice(1),
    )
    const { rows } = await outlay.pool.query('select datname from pg_database where datname = any ($1)', [made])
    expect(new Set(made).size).toBe(2)
    expect(rows).toEqual([])
  })

  it('needs no test runner at all', async () => {
    const text = `import { startOutlay } from '@outlay/harness'
      const outlay = await startOutlay()
      const account = await outlay.account()
      console.log(JSON.stringify({ ready: true, balance: await account.balance() }))
      await outlay.stop()`
    const env = { OUTLAY_TEST_DATABASE_URL: adminUrl, VITEST: undefined }
    const entry = `data:text/javascript,${encodeURIComponent(refuseVitest)}`
    const nodeArgs = ['--import', entry, '--input-type=module', '--eval', text, '--']
    const spawn = { env, nodeArgs, cwd: import.meta.dirname, readyTimeoutMs: 110_000 }
    const program = await spawnNode(import.meta.filename, spawn)
    expect(program.ready['balance']).toBe('1000000.00')
    expect(await program.ended).toEqual({ code: 0, signal: null })
  }, 120_000)
})

const refuseVitest = `import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) {
  if (name === 'vitest' || name.startsWith('vitest/')) throw new Error('There is no vitest here.')
  return next(name, context)
} })`
