import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type EngineOptions } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'
import type { Finding } from './finding.ts'

const place = { streetLine1: '1 Canary Row', city: 'Austin', state: 'TX', zip: '78701' }
const bank = {
  owner: 'Ada Canary',
  name: 'Ada, salary',
  accountNumber: '98765432101234',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
  transferTypes: ['ach_credit'],
} as const

describe('the doctor names what is tried again and again in vain', async () => {
  const host = await testHost()
  const { database } = host

  const open = (gateway: EngineOptions<pg.PoolClient>['gateway']) =>
    createEngine({ backend: postgres({ driver: pgDriver(host.pool) }), gateway, polling: { maxDelayMs: 20 } })
  async function examine() {
    const { stdout } = await outlay(['doctor', '--json'], { DATABASE_URL: database.url })
    return (JSON.parse(stdout) as { findings: readonly Finding[] }).findings
  }
  const find = async (code: string) => (await examine()).find((finding) => finding.code === code)

  it('payouts whose counterparties the service does not register', async () => {
    await using engine = open({
      ...memoryGateway(),
      registerAddress: async () => ({ outcome: 'unknown' as const, detail: 'HTTP 503', httpStatus: 503 }),
    })
    const { id } = await host.enqueue({ destination: { address: bank, valueType: 'USD', transferType: 'ach_credit' } })
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.reason === 'registration_unknown')
    expect(await find('deferred')).toBeUndefined()
    await host.pool.query(`update outlay.transfer set created_at = now() - interval '20 hours'`)
    const finding = await find('deferred')
    expect(finding).toMatchObject({ severity: 'serious', cure: expect.stringContaining('no money can have moved') })
    expect(finding?.what).toMatch(/1 transfer deferred \(registration_unknown\), the oldest for 20h: \S+; of acme\./)
    const { stdout } = await outlay(['transfers', 'list', '--stuck'], { DATABASE_URL: database.url })
    expect(stdout).toMatch(/counterparty|answer to an attempt/)
  })

  it('a watched account whose list cannot be read, until it can', async () => {
    let isBroken = true
    await using engine = open({
      ...memoryGateway(),
      list: async () => {
        if (isBroken) throw new Error('HTTP 403')
        return { observations: [] }
      },
    })
    await host.commit((tx) => engine.accounts.watch(tx, 'acme'))
    await host.commit((tx) => engine.accounts.watch(tx, 'idle'))
    await host.pool.query(
      `update outlay.watched_account set next_poll_at = now() + interval '1 hour' where account_id = 'idle'`,
    )
    // A quiet account is well, however long ago its last transfer was made.
    await host.pool.query(
      `update outlay.watched_account set since = now() - interval '9 days', seen_to = now() - interval '9 days', idle = 20`,
    )
    await engine.start()
    const finding = await waitUntil(async () => {
      const found = await find('watched_unread')
      return found?.severity === 'serious' ? found : undefined
    })
    expect(finding.what).toMatch(/1 watched account whose list is not read: acme \(\d+ failures in a row\)\./)
    expect(finding.cure).toContain('log of a worker')
    isBroken = false
    await waitUntil(async () => (await examine()).length === 0)
    await host.commit((tx) => engine.accounts.unwatch(tx, 'acme'))
    await host.commit((tx) => engine.accounts.unwatch(tx, 'idle'))
  })

  it('a watched account that nobody reads', async () => {
    await host.commit((tx) => host.engine.accounts.watch(tx, 'acme'))
    await host.pool.query(`update outlay.watched_account set next_poll_at = now() - interval '3 hours'`)
    expect(await find('watched_unread')).toMatchObject({
      severity: 'serious',
      what: expect.stringContaining('acme (due for 3h)'),
    })
    await host.commit((tx) => host.engine.accounts.unwatch(tx, 'acme'))
  })
})
