import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { type HostShards, refusal } from '../../test/shard-host.ts'
import { pgDriver } from '../drivers/pg.ts'
import { rolesSql } from '../schema/roles.ts'
import { directory } from './directory.ts'

/** What stays: the audit is of the node, and the others are of one moment of its workers, or of the move itself. */
const staying = [
  ...['audit'],
  ...['departed_account', 'moved_row', 'submission_slot', 'list_reading', 'transfer_count'],
]

describe('a move of an account', async () => {
  const host = await moveHost()
  const { east, west } = host

  /** Tables of the engine that say what is of an account or of a transfer, with that column. */
  const tablesOfAccounts = async () => {
    const { rows } = await east.query(
      `select c.table_name as name, min(c.column_name) as column from information_schema.columns c
       join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
       where c.table_schema = 'outlay' and c.column_name in ('account_id', 'transfer_id', 'batch_id') and c.table_name <> all ($1)
       group by 1 order by 1`,
      [staying],
    )
    return rows as { readonly name: string; readonly column: string }[]
  }
  const read = async (on: typeof east, name: string) =>
    (await on.query(`select to_jsonb(t) as row from outlay.${name} t order by to_jsonb(t)::text`)).rows.map(
      ({ row }) => row,
    )

  it('takes along what every table has of the account, and leaves what is of others', async () => {
    const { shards, account } = await host.openAt()
    const { id } = await payAt(shards, account, 'first')
    const other = `other-${account}`
    await host.route.assign(other, 'east')
    await payAt(shards, other, 'first')
    const batch = await shards.transaction(account, (tx) => shards.batches.create(tx, { accountId: account }))
    await east.query(`insert into outlay.subscription (name, types) values ('books', '{}')`)
    await west.query(`insert into outlay.subscription (name, types) values ('books', '{}')`)
    await east.query(`insert into outlay.stop (scope, name, reason) values ('account', $1, 'under review')`, [account])
    const tables = await tablesOfAccounts()
    for (const { name } of tables) {
      const { rows } = await east.query(
        `select string_agg(format('%I', column_name), ', ') as names, string_agg(case
            when column_name = 'transfer_id' then '$1' when column_name = 'account_id' then '$2' when column_name = 'batch_id' then '$3'
            when column_name = 'subscription' then '''books''' when column_name = 'result' then '''pass'''
            when data_type = 'jsonb' then '''{"a": [1.50, null]}''' when data_type = 'boolean' then 'false'
            when data_type like 'timestamp%' then 'timestamptz ''2026-01-02 03:04:05.678901+00''' when data_type = 'ARRAY' then '''{x}'''
            when data_type in ('integer', 'bigint', 'numeric', 'double precision') then '7' when data_type = 'uuid' then 'gen_random_uuid()'
            else '''x''' end, ', ') as texts
         from information_schema.columns where table_schema = 'outlay' and table_name = $1`,
        [name],
      )
      if (['transfer', 'batch', 'outbox'].includes(name)) continue
      const texts = String(rows[0].texts)
        .replaceAll('$1', `'${id}'`)
        .replaceAll('$2', `'${account}'`)
        .replaceAll('$3', `'${batch.id}'`)
      await east.query(`insert into outlay.${name} (${rows[0].names}) values (${texts}) on conflict do nothing`)
    }
    const before = new Map<string, unknown[]>()
    for (const { name } of [...tables, { name: 'stop' }]) before.set(name, await read(east, name))
    const others = ['transfer', 'outbox']
    for (const [name, rows] of before) expect([name, rows.length]).toEqual([name, others.includes(name) ? 2 : 1])

    const moved = await shards.accounts.move(account, { to: 'west', actor: 'anna', reason: 'full' })
    expect(moved).toMatchObject({ accountId: account, from: 'east', to: 'west', result: 'moved', transfers: 1 })
    for (const [name, rows] of before) {
      const left = rows.filter((row) => JSON.stringify(row).includes(other))
      expect([name, await read(west, name)]).toEqual([name, rows.filter((row) => !left.includes(row))])
      expect([name, await read(east, name)]).toEqual([name, left])
    }
    for (const on of [east, west]) expect(await read(on, 'moved_row')).toEqual([])
  })

  it('keeps a key unique, here and there and back again', async () => {
    const { shards, account } = await host.openAt()
    const first = await payAt(shards, account, 'rent')
    await shards.accounts.move(account, { to: 'west' })
    const second = await payAt(shards, account, 'rent')
    expect(second.id).toBe(first.id)
    await payAt(shards, account, 'wages')
    expect(await shards.accounts.move(account, { to: 'east' })).toMatchObject({ result: 'moved', transfers: 2 })
    expect((await payAt(shards, account, 'rent')).id).toBe(first.id)
    const live = await host.live(account)
    expect([live.east.length, live.west]).toEqual([2, []])
    expect(await shards.accounts.move(account, { to: 'east' })).toMatchObject({ result: 'there', transfers: 0 })
  })

  it('refuses on the old node whatever a route there says', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    const stale = host.make({ route: () => 'east' })
    await shards.accounts.move(account, { to: 'west' })
    expect((await refusal(payAt(stale, account, 'second'))).code).toBe('wrong_node')
    expect((await refusal(stale.accounts.move(account, { to: 'west' }))).field).toBe('route')
    const pool = new pg.Pool({ connectionString: host.eastUrl, max: 1 })
    const narrow = host.make({ route: directory({ pool }) })
    expect((await refusal(narrow.accounts.move(account, { to: 'east' }))).field).toBe('pool')
    expect((await refusal(shards.accounts.move(account, { to: 'north' }))).field).toBe('to')
    await pool.end()
    expect((await host.live(account)).east).toEqual([])
  })

  it('says of an account between two nodes that it moves, and not that it has nothing', async () => {
    const { shards, account } = await host.openAt()
    const { id } = await payAt(shards, account, 'first')
    const { id: batchId } = await shards.transaction(account, (tx) =>
      shards.batches.create(tx, { accountId: account, key: 'wages' }),
    )
    const stop = ({ step }: { readonly step: string }) => {
      if (step === 'switched') throw new Error('The mover ends here.')
    }
    await expect(shards.accounts.move(account, { to: 'west', onProgress: stop })).rejects.toThrow('ends here')
    expect(await host.live(account)).toEqual({ east: [], west: [] })
    const asked = [
      () => shards.transfers.get(id),
      () => shards.transfers.getByKey(account, 'first'),
      () => shards.transfers.find({ accountId: account }),
      () => payAt(shards, account, 'first'),
      () => shards.transaction(account, (tx) => shards.accounts.pause(tx, account)),
      () => shards.transaction(account, (tx) => shards.transfers.cancel(tx, id)),
      () => shards.transfers.holds(id),
      () => shards.transfers.compare(id, 'remote'),
      () => shards.batches.get(batchId),
      () => shards.batches.getByKey('wages', { accountId: account }),
      () => shards.batches.review(batchId),
      ...[
        (tx: pg.PoolClient) => shards.transfers.cancel(tx, id),
        (tx: pg.PoolClient) => shards.transfers.get(id, tx),
        (tx: pg.PoolClient) => shards.transfers.holds(id, tx),
        (tx: pg.PoolClient) => shards.transfers.find({ accountId: account }, tx),
        (tx: pg.PoolClient) => shards.batches.get(batchId, tx),
        (tx: pg.PoolClient) => shards.batches.getByKey('wages', { accountId: account, tx }),
        (tx: pg.PoolClient) => shards.batches.review(batchId, tx),
        (tx: pg.PoolClient) => shards.batches.close(tx, batchId),
        (tx: pg.PoolClient) => shards.batches.pause(tx, batchId),
        (tx: pg.PoolClient) => shards.batches.resume(tx, batchId),
        (tx: pg.PoolClient) => shards.batches.cancel(tx, batchId, { actor: 'ann' }),
        (tx: pg.PoolClient) => shards.batches.approve(tx, batchId, { actor: 'ann', roles: [] }),
      ].map((ask) => () => pgDriver(east).transaction<unknown>(ask)),
    ]
    for (const ask of asked) expect([String(ask), (await refusal(ask())).code]).toEqual([String(ask), 'account_moving'])
    expect((await refusal(shards.accounts.move(account, { to: 'east' }))).message).toContain(
      'finish it with to: "west"',
    )
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 1 })
    expect(await shards.transfers.get(id)).toMatchObject({ id })
    expect(await shards.batches.getByKey('wages', { accountId: account })).toMatchObject({ id: batchId })
    // Nothing was paused, so the batch that has left is not taken for one that is not paused.
    const late = pgDriver(east).transaction((tx) => shards.batches.resume(tx, batchId))
    expect((await refusal(late)).code).toBe('not_found')
  })

  it('is not empty to whoever reads it at the end of its move', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    await shards.transaction(account, (tx) => shards.batches.create(tx, { accountId: account, key: 'wages' }))
    const onProgress = ({ step }: { readonly step: string }) => {
      if (step === 'switched') throw new Error('The mover ends here.')
    }
    for (const [statement, read] of [
      ['get_by_key', (one: HostShards) => one.transfers.getByKey(account, 'first')],
      ['batch_by_key', (one: HostShards) => one.batches.getByKey('wages', { accountId: account })],
    ] as const) {
      await expect(shards.accounts.move(account, { to: 'west', onProgress })).rejects.toThrow('ends here')
      const driver = pgDriver(west)
      // The account arrives when it has just been read.
      let arrives = true
      const query: typeof driver.query = async (...given) => {
        const found = await driver.query(...given)
        const isRead = arrives && given[0].name.endsWith(statement)
        if (isRead) arrives = false
        if (isRead) await shards.accounts.move(account, { to: 'west' })
        return found
      }
      const nodes = { east: { driver: pgDriver(east) }, west: { driver: { ...driver, query } } }
      expect([statement, await read(host.make({ nodes, route: host.route }))]).toMatchObject([
        statement,
        { accountId: account },
      ])
      expect(arrives).toBe(false)
      await shards.accounts.move(account, { to: 'east' })
    }
  })

  const obstacles = {
    'a policy of one node alone': [
      `with v as (insert into outlay.policy_version (version, tag, policies, actor, reason) values (1, 'tag', '[{}]', 'a', 'b') returning version)
       insert into outlay.policy_state (version, tag) select version, 'tag' from v`,
      'other policies',
    ],
    'a subscription of one node alone': [
      `insert into outlay.subscription (name, types) values ('books', '{transfer.failed}')`,
      'no subscription "books"',
    ],
    'a foreign key of the host': [
      'create table invoice (transfer_id text references outlay.transfer (id))',
      'invoice (invoice_transfer_id_fkey)',
    ],
    'a batch of several accounts': [
      `with b as (insert into outlay.batch (id) values ('of-all') returning id) update outlay.transfer t set batch_id = b.id from b`,
      'the batch of-all',
    ],
  } as const
  it.each(Object.entries(obstacles))('refuses %s, and the account goes on where it was', async (_, [sql, why]) => {
    const { shards, account } = await host.openAt()
    const { id } = await payAt(shards, account, 'first')
    await east.query(sql)
    const error = await refusal(shards.accounts.move(account, { to: 'west' }))
    await east.query('drop table if exists invoice')
    expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining(why)])
    const { rows } = await east.query('select state from outlay_directory.account_move where account_id = $1', [
      account,
    ])
    expect(rows).toEqual([{ state: 'returned' }])
    expect((await payAt(shards, account, 'first')).id).toBe(id)
    expect((await host.live(account)).east).toHaveLength(1)
  })

  it('refuses a node that has a transfer of its own under a key, and goes back', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'rent')
    const strayed = host.make({ route: () => 'west' })
    await payAt(strayed, account, 'rent')
    const error = await refusal(shards.accounts.move(account, { to: 'west' }))
    expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining('of rent.')])
    expect(await host.live(account)).toMatchObject({ east: { length: 1 }, west: { length: 1 } })
  })

  it('needs the rights of whoever owns the tables, since approvals move too', async () => {
    const name = (part: string) => `${part}-${randomUUID().slice(0, 8)}`
    const roles = { enqueue: name('e'), worker: name('w'), migrator: name('m'), reader: name('r') }
    for (const on of [east, west]) await on.query(rolesSql({ roles }))
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    const pools: pg.Pool[] = []
    const openAs = (role: string) => {
      const [eastDriver, westDriver] = [host.eastUrl, host.westUrl].map((connectionString) => {
        const pool = new pg.Pool({ connectionString, max: 4, options: `-c role=${role}` })
        pools.push(pool)
        return pgDriver(pool)
      })
      if (eastDriver === undefined || westDriver === undefined) throw new Error('There are two nodes.')
      const nodes = { east: { driver: eastDriver }, west: { driver: westDriver } }
      return host.make({ nodes, route: host.route })
    }
    expect((await refusal(openAs(roles.worker).accounts.move(account, { to: 'west' }))).message).toContain(
      `the role "${roles.worker}" may not write the table approval of "east"`,
    )
    const limited = openAs(roles.migrator)
    // It sees the transactions of others.
    const client = await east.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select 1')
    expect((await refusal(limited.accounts.move(account, { to: 'west', waitMs: 100 }))).message).toContain(
      'from before',
    )
    await client.query('rollback')
    client.release()
    expect(await limited.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 1 })
    await Promise.all(pools.map((pool) => pool.end()))
    for (const on of [east, west]) {
      await on.query(`reassign owned by "${roles.migrator}" to current_user`)
      for (const role of Object.values(roles)) await on.query(`drop owned by "${role}"`)
      for (const role of Object.values(roles)) await on.query(`drop role "${role}"`)
    }
  })
})
