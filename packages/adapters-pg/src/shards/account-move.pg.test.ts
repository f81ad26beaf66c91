import { describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { refusal } from '../../test/shard-host.ts'

/** What stays: the audit is of the node, and the others are of one moment of its workers, or of the move itself. */
const staying = ['audit', 'departed_account', 'moved_row', 'submission_slot', 'list_reading']

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
            when column_name = 'subscription' then '''books'''
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
    expect((await host.live(account)).east).toEqual([])
  })
})
