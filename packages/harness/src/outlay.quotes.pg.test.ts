import { createEngine, type EngineOptions, type TransferEvent } from '@outlay/core'
import { usBankAccount, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import type { PoolClient } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import type { Duration } from './duration.ts'
import { startOutlay } from './outlay.ts'

describe('a payout that is enqueued with a quote', async () => {
  const { adminUrl } = await testDatabase()
  const returned: TransferEvent['returned'][] = []
  const outlay = await startOutlay({
    postgres: { url: adminUrl },
    createEngine(options: EngineOptions<PoolClient>) {
      const engine = createEngine(options)
      engine.subscribe('reopen-invoices', ['transfer.returned'], async (event) => {
        returned.push(event.returned)
      })
      return engine
    },
  })
  afterAll(() => outlay.stop())
  const { routingNumber: _, ...bank } = usBankAccount
  const pay = async (value: string, pause: Duration = 0, funds = '10000') => {
    const account = await outlay.account({ funds })
    const clabe = { ...bank, accountNumber: '032180000118359719', transferTypes: ['spei'] }
    const payee = await outlay.payee(account, clabe)
    const amount = { value, currency: 'USDC' }
    const pair = { source: { valueType: 'USDC' }, destination: { valueType: 'MXN' } }
    const { id: quoteId } = await outlay.client.quotes.create(account.id, { amount, ...pair })
    await outlay.advance(pause)
    const transfer = await outlay.transaction((tx) =>
      outlay.engine.transfers.enqueue(tx, {
        accountId: account.id,
        amount,
        source: account.source(),
        destination: payee.destination('MXN', 'spei'),
        quoteId,
      }),
    )
    return { account, transfer }
  }

  it('takes and pays the amounts of the quote, once, even when the answer of the create is lost', async () => {
    const lost = outlay.faults.dropAnswer()
    const { account, transfer } = await pay('100')
    await outlay.drain()
    await outlay.advance('1 hour')
    expect(lost.applied).toBe(1)
    expect(await outlay.engine.transfers.get(transfer.id)).toMatchObject({ status: 'complete', attempt: 2 })
    expect(await account.balance()).toBe('9900.00')
    const { items } = await outlay.client.transfers.list(account.id)
    expect(items.map(({ quote }) => quote)).toMatchObject([
      { rate: '18.5', destinationAmount: { value: '1850.00', currency: 'MXN' } },
    ])
  })

  it('that comes back is one event for the handler, with what the wallet got', async () => {
    const { account, transfer } = await pay('100')
    const complete = await outlay.settle(transfer.id, 'complete')
    const remoteId = complete.remoteId ?? ''
    expect(complete).toMatchObject({ stage: 'settled', status: 'complete' })
    await outlay.settle(transfer.id, { return: 'R03' })
    const shown = await waitUntil(async () => {
      const read = await outlay.client.transfers.get(account.id, remoteId)
      return read?.returns === undefined ? undefined : read
    })
    const pesos = { value: '1850.00', currency: 'MXN' }
    const dollars = { value: '100.000000', currency: 'USDC' }
    expect(shown.returns).toMatchObject([{ amount: pesos, sourceAmount: dollars }])
    const { status, failure, returns = [] } = shown
    for (let reports = 0; reports < 2; reports += 1) {
      const seen = [{ remoteId, status, failure, returns }]
      await outlay.transaction((tx) => outlay.engine.transfers.observe(tx, account.id, seen))
    }
    await outlay.drain()
    expect(returned).toMatchObject([{ code: 'R03', amount: dollars }])
    expect(await account.balance()).toBe('10000.00')
  })

  it('fails when the quote has expired before it was sent, and is not sent again', async () => {
    const { account, transfer } = await pay('100', '6 minutes')
    await outlay.drain()
    expect(await outlay.engine.transfers.get(transfer.id)).toMatchObject({
      stage: 'settled',
      status: 'failed',
      attempt: 1,
      failure: { code: 'quote_expired', retriable: false },
    })
    expect(await account.balance()).toBe('10000.00')
  })

  it('fails when the quote has expired before there was money for it', async () => {
    const { account, transfer } = await pay('100', 0, '10')
    const stage = async () => (await outlay.engine.transfers.get(transfer.id))?.stage
    await waitUntil(async () => (await stage()) === 'awaiting_funds')
    await outlay.advance('6 minutes')
    await outlay.deposit(account, { valueType: 'USDC', transferType: 'base', amount: '1000' })
    await waitUntil(async () => (await stage()) === 'settled', { timeoutMs: 60_000 })
    expect(await outlay.engine.transfers.get(transfer.id)).toMatchObject({
      status: 'failed',
      failure: { code: 'quote_expired', retriable: false },
    })
    expect(await account.balance()).toBe('1010.00')
  })
})
