import type { Observation } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createTransferStore } from './transfers.ts'

const seen = (remoteId: string, status: 'processing' | 'complete' = 'complete'): Observation => ({
  remoteId,
  status,
  failure: null,
})

describe('observations of several accounts', async () => {
  const { open, commit, rows, begin, pool, driver } = await testHost()
  const store = createTransferStore(driver, resolveNames({}).tokens)
  const engine = open({
    gateways: { default: memoryGateway(), bank: memoryGateway() },
    route: ({ note }) => note ?? 'default',
  })

  /** A transfer that has this id at its gateway. */
  async function submitted(accountId: string, remoteId: string, gateway = 'default'): Promise<string> {
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout(accountId, { note: gateway })))
    await rows(`update outlay.transfer set stage = 'submitted', remote_id = $2 where id = $1`, [id, remoteId])
    return id
  }
  const statuses = async () =>
    Object.fromEntries(
      (await rows('select account_id, gateway, status from outlay.transfer')).map((row) => [
        `${row.account_id} ${row.gateway}`,
        row.status,
      ]),
    )

  it('change the transfers of each account at its gateway, whatever ids others have', async () => {
    for (const accountId of ['acme', 'brew', 'cafe']) await submitted(accountId, 'same')
    await submitted('acme', 'same', 'bank')
    await submitted('brew', 'same', 'bank')
    const given = [
      { accountId: 'brew', observations: [seen('same')], gateway: 'default' },
      { accountId: 'acme', observations: [seen('same')], gateway: 'bank' },
      { accountId: 'cafe', observations: [seen('other')], gateway: 'default' },
    ]
    expect(await commit((tx) => engine.transfers.observeMany(tx, given))).toBe(2)
    expect(await statuses()).toEqual({
      ...{ 'acme default': 'pending', 'brew default': 'complete', 'cafe default': 'pending' },
      ...{ 'acme bank': 'complete', 'brew bank': 'pending' },
    })
    expect(await rows('select account_id, remote_id from outlay.early_observation')).toEqual([
      { account_id: 'cafe', remote_id: 'other' },
    ])
  })

  it('are applied in their order where an account is named again', async () => {
    const id = await submitted('acme', 'one')
    const given = [seen('one', 'processing'), seen('one')].map((one) => {
      return { accountId: 'acme', observations: [one], gateway: 'default' }
    })
    expect(await commit((tx) => engine.transfers.observeMany(tx, given))).toBe(1)
    const events = await rows(`select type from outlay.events_of($1) order by sequence`, [id])
    expect(events.map(({ type }) => type).slice(-2)).toEqual(['transfer.processing', 'transfer.completed'])
  })

  it('change nothing where one of them is invalid, which the error names, or where there are none', async () => {
    await submitted('acme', 'one')
    const valid = { accountId: 'acme', observations: [seen('one')], gateway: 'default' }
    const invalid: readonly [unknown, string][] = [
      [[valid, { ...valid, accountId: 'a b' }], '1.accountId'],
      [
        [valid, { ...valid, observations: [seen('one'), { remoteId: 'one', status: 'done' }] }],
        '1.observations.1.status',
      ],
      [[valid, { ...valid, observations: 'all' }], '1.observations'],
      [[valid, { ...valid, gateway: 'none' }], '1.gateway'],
      [[{ accountId: 'acme', observations: [] }], '0.gateway'],
      [[valid, { ...valid, gatway: 'bank' }], '1.gatway'],
      [[valid, null], '1'],
      [valid, 'observations'],
    ]
    await commit(async (tx) => {
      for (const [given, field] of invalid)
        await expect(engine.transfers.observeMany(tx, given as never), field).rejects.toMatchObject({ field })
      expect(await engine.transfers.observeMany(tx, [])).toBe(0)
      expect(await engine.transfers.observeMany(tx, [{ ...valid, observations: [] }])).toBe(0)
    })
    expect(await statuses()).toEqual({ 'acme default': 'pending' })
  })

  it('take as many statements as those of one, whatever they say', async () => {
    const accounts = Array.from({ length: 40 }, (_, n) => `account-${n}`)
    for (const accountId of accounts) await submitted(accountId, 'one')
    const amount = { type: 'fiat', value: '1.00', currency: 'USD' } as const
    const said = [
      {
        ...seen('one'),
        returns: [{ code: 'R01', reason: null, amount, occurredAt: null }],
      },
      seen('unknown'),
    ]
    const count = async (some: readonly string[]) => {
      const tx = await begin()
      const query = vi.spyOn(tx, 'query')
      const given = some.map((accountId) => ({ accountId, observations: said as never, gateway: 'default' }))
      expect(await engine.transfers.observeMany(tx, given)).toBe(some.length)
      const statements = query.mock.calls.length
      query.mockRestore()
      expect((await tx.query('select account_id from outlay.early_observation')).rowCount).toBe(some.length)
      expect((await tx.query('select transfer_id from outlay.transfer_return')).rowCount).toBe(some.length)
      await tx.query('rollback')
      return statements
    }
    expect(await count(accounts)).toBe(await count(accounts.slice(0, 1)))
  })

  it('wait for each other in one order, whatever the order of the accounts', async () => {
    const accounts = Array.from({ length: 20 }, (_, n) => `account-${n}`)
    for (const accountId of accounts) await submitted(accountId, 'one')
    const apply = (some: readonly string[], remoteId: string) =>
      commit((tx: pg.PoolClient) =>
        engine.transfers.observeMany(
          tx,
          some.map((accountId) => ({ accountId, observations: [seen('one'), seen(remoteId)], gateway: 'default' })),
        ),
      )
    for (let round = 0; round < 5; round += 1) {
      const changed = await Promise.all([
        apply(accounts, `other-${round}`),
        apply(accounts.toReversed(), `other-${round}`),
      ])
      expect(changed.reduce((sum, one) => sum + one)).toBe(round === 0 ? accounts.length : 0)
    }
  })

  it('read nothing of other transfers by a plan from when the table was empty', async () => {
    const observer = await pool.connect()
    const observe = (accountId: string) =>
      engine.transfers.observeMany(observer, [{ accountId, observations: [seen('one')], gateway: 'default' }])
    try {
      // As many as a connection needs to keep its plan.
      for (let time = 0; time < 8; time += 1) await inTransaction(observer, () => observe('acme'))
      const payouts = Array.from({ length: 4_000 }, () => samplePayout('acme', { note: 'default' }))
      await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
      await rows(`update outlay.transfer set stage = 'submitted', remote_id = id`)
      await inTransaction(observer, async () => {
        const before = await readSoFar(observer)
        await observe('acme')
        expect((await readSoFar(observer)) - before).toBeLessThan(200)
      })
    } finally {
      observer.release()
    }
  })

  it('read nothing of other transfers of their accounts, though each had one when the table was analysed', async () => {
    const accounts = Array.from({ length: 500 }, (_, n) => `account-${n}`)
    await commit((tx) =>
      engine.transfers.enqueueMany(
        tx,
        accounts.map((accountId) => samplePayout(accountId, { note: 'default' })),
      ),
    )
    await rows(`update outlay.transfer set stage = 'submitted', remote_id = 'id of ' || account_id`)
    await rows('analyze outlay.transfer')
    const payouts = Array.from({ length: 4_000 }, () => samplePayout('account-7', { note: 'default' }))
    await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
    await rows(`update outlay.transfer set stage = 'submitted', remote_id = id where remote_id is null`)
    const tx = await begin()
    const before = await readSoFar(tx)
    const given = accounts.slice(0, 100).map((accountId) => {
      return { accountId, observations: [seen(`id of ${accountId}`, 'processing')], gateway: 'default' }
    })
    expect(await engine.transfers.observeMany(tx, given)).toBe(100)
    expect((await readSoFar(tx)) - before).toBeLessThan(3_000)
  })

  it.each(['wait', 'skip', 'fail'] as const)(
    'read nothing of others, though none had an id when the table was analysed: %s',
    async (how) => {
      const payouts = Array.from({ length: 4_000 }, () => samplePayout('acme', { note: 'default' }))
      const enqueued = await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
      await rows('analyze outlay.transfer')
      await rows(`update outlay.transfer set stage = 'submitted', remote_id = id`)
      const tx = await begin()
      const before = await readSoFar(tx)
      const given = enqueued.slice(0, 100).map(({ id }) => seen(id))
      const rules = { decide: () => undefined, describe: () => undefined, returnWindowMs: () => undefined }
      expect(await store.apply(tx, 'acme', given, rules, how)).toEqual({ changed: 0, found: 0, skipped: new Set() })
      expect((await readSoFar(tx)) - before).toBeLessThan(1_000)
    },
  )
})

async function inTransaction(client: pg.PoolClient, work: () => Promise<unknown>): Promise<void> {
  await client.query('begin')
  await work()
  await client.query('commit')
}

/** Rows of transfers that the session has read, by whichever index or none. */
async function readSoFar(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query(
    `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::integer as rows
     from pg_stat_xact_user_tables where schemaname = 'outlay' and relname = 'transfer'`,
  )
  return rows[0].rows
}
