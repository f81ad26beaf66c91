import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { setAccountStatus } from '../accounts/accounts.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '10000' }])
  payments = testPayments(api)
  context = api.sandbox.service.context
})
afterAll(() => api.stop())

/** What wallets hold for transfers. */
const held = async () => {
  const { rows } = await inspect(context.pool).query(
    `select coalesce(sum(entries_held), 0)::float as held from ${context.schema}.ledger_balance where kind = 'custodial'`,
  )
  return Number(rows[0].held)
}
const decide = (status: 'complete' | 'rejected') =>
  inTransaction(context, (tx) => setAccountStatus(tx, context, api.accountId, status))

it('transfers of an account that is rejected fail before they are sent, and those that were sent go on', async () => {
  const sent = await payments.payout()
  const wire = await payments.wireOnramp('100.00')
  const { engine } = context
  await inTransaction(context, (tx) => engine.stops.add(tx, { scope: 'all' }))
  await vi.waitFor(async () => expect((await engine.sending()).stops).toHaveLength(1), { timeout: 60_000 })
  const before = await held()
  const wallet = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const body = {
    amount: { value: '5', currency: 'USDC' },
    source: wallet,
    destination: { ...wallet, address_id: sent.destination.address_id },
  }
  const { body: waiting } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })
  expect(waiting.status).toBe('pending')
  expect(await held()).toBe(before + 5)
  await decide('rejected')
  const failure = { type: 'rejected', code: 'account_rejected', retriable: false }
  expect(await payments.read(waiting.id)).toMatchObject({ status: 'failed', failure })
  expect(await held()).toBe(before)
  expect((await payments.read(sent.id)).status).toBe('processing')
  expect((await payments.read(wire.id)).status).toBe('pending')
  await inTransaction(context, (tx) => engine.stops.end(tx, { scope: 'all' }))
  await decide('complete')
  await decide('rejected')
  expect((await engine.transfers.get(waiting.id))?.status).toBe('canceled')
  expect(await payments.read(waiting.id)).toMatchObject({ status: 'failed', failure })
  expect((await payments.read(sent.id)).status).toBe('processing')
  await expectSoundLedger(context)
})

it('whoever rejects an account waits for a transfer that is being created, and finds it', async () => {
  await decide('complete')
  const { schema } = context
  let isOver = false
  let rejected: Promise<unknown> = Promise.resolve()
  await inTransaction(context, async (tx) => {
    // A copy of another one, as far as the statement of the create has written it.
    await tx.query(
      `select ${schema}.transfer_hold(to_jsonb(t) || jsonb_build_object('id', $1::text), '[]')
         from (select * from ${schema}.transfer where account_id = $2 and source_address_id is not null order by id limit 1) t`,
      ['0'.repeat(26), api.accountId],
    )
    rejected = decide('rejected').finally(() => {
      isOver = true
    })
    await vi.waitFor(
      async () => {
        const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
        expect(isOver || (await inspect(context.pool).query(waiting)).rowCount).toBeTruthy()
      },
      { timeout: 60_000 },
    )
    expect(isOver).toBe(false)
    await tx.query(`delete from ${schema}.transfer where id = $1`, ['0'.repeat(26)])
  })
  await rejected
  expect(isOver).toBe(true)
})
