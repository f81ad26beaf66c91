import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

const host = await testHost()
const { sendAndRewind } = restoredDatabase(host)

const since = () => new Date(Date.now() - 60_000)

it('a reconciliation passes over an account whose transfers a host has locked, and keeps the fence up', async () => {
  const payouts = ['held', 'well'].map((account) => samplePayout(account, { idempotencyKey: account }))
  const { engine } = await sendAndRewind(listingGateway(), payouts, payouts)
  const reconcile = async () => {
    const { lifted, differences } = await engine.reconcile({ since: since() })
    return { lifted, found: differences.map(({ accountId, kind }) => `${accountId} ${kind}`) }
  }
  const open = await host.pool.connect()
  try {
    await open.query('begin')
    await open.query(`select 1 from outlay.transfer where account_id = 'held' for update`)
    expect(await reconcile()).toEqual({ lifted: false, found: ['held unreadable', 'well resent', 'well undecided'] })
  } finally {
    await open.query('rollback')
    open.release()
  }
  const second = await reconcile()
  expect(second.lifted).toBe(true)
  expect(second.found).toEqual(expect.arrayContaining(['held resent', 'held undecided']))
}, 60_000)
