import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { refusal } from '../../test/shard-host.ts'

describe('what happens while an account moves', async () => {
  const host = await moveHost()
  const { east, west } = host
  const rows = async (on: pg.Pool, text: string, ...values: unknown[]) => (await on.query(text, values)).rows

  /** Runs SQL on a node in the transaction that writes a state of a move there. */
  const at = async (on: pg.Pool, state: string, sql: string) => {
    await on.query(
      `create function at_state() returns trigger language plpgsql as $$ begin ${sql}; return null; end $$`,
    )
    await on.query(
      `create trigger at_state after update on outlay.departed_account for each row when (new.state = '${state}') execute function at_state()`,
    )
    return () => on.query('drop trigger at_state on outlay.departed_account; drop function at_state()')
  }

  it.each(['pause', 'close', 'cancel'] as const)(
    'waits for a transaction that may %s a batch, and takes that along',
    async (command) => {
      const { shards, account } = await host.openAt()
      const { id } = await shards.transaction(account, async (tx) => {
        const batch = await shards.batches.create(tx, { accountId: account })
        await shards.transfers.enqueue(tx, samplePayout(account, { batchId: batch.id }))
        return batch
      })
      // This one is waited for, and the other one begins meanwhile.
      const [first, second] = [await east.connect(), await east.connect()]
      let moving: Promise<unknown> = Promise.resolve()
      try {
        await first.query('begin')
        await shards.transfers.enqueue(first, samplePayout(account))
        // A statement with values keeps its snapshot, for which the move waits in another way, until the next statement.
        await first.query('select 1')
        moving = shards.accounts.move(account, { to: 'west', waitMs: 2_000 })
        const state = () => rows(east, 'select state from outlay.departed_account where account_id = $1', account)
        await waitUntil(async () => (await state())[0]?.state === 'leaving')
        await second.query('begin')
        await shards.batches[command](second, id)
        await second.query('select 1')
        await first.query('commit')
        const error = await refusal(moving)
        expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining('batch')])
      } finally {
        await first.query('commit')
        await second.query('commit')
        for (const one of [first, second]) one.release()
        await moving.catch(() => undefined)
      }
      expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved' })
      const table = command === 'pause' ? 'paused_batch' : 'closed_batch'
      expect(await rows(west, `select batch_id from outlay.${table}`)).toEqual([{ batch_id: id }])
      expect(await rows(east, `select batch_id from outlay.${table}`)).toEqual([])
      const batch = await shards.batches.get(id)
      expect([batch?.paused, batch?.state !== 'open']).toEqual([command === 'pause', command !== 'pause'])
    },
  )

  it('goes back when a node is fenced, or everything stopped, before the route is switched', async () => {
    for (const [on, state, sql, why] of [
      [east, 'packed', `perform outlay.fence('restored', 'ann')`, 'may not send'],
      [east, 'packed', `insert into outlay.stop (scope) values ('all')`, 'other stops'],
    ] as const) {
      const { shards, account } = await host.openAt()
      await payAt(shards, account, 'first')
      const off = await at(on, state, sql)
      const error = await refusal(shards.accounts.move(account, { to: 'west' }))
      await off()
      expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining(why)])
      expect(await host.live(account)).toMatchObject({ east: { length: 1 }, west: [] })
      await on.query(`delete from outlay.stop; delete from outlay.known_database`)
    }
  })

  it('goes back when the account is stopped in its pause, and takes the stop along afterwards', async () => {
    const gateway = memoryGateway()
    const { shards, account } = await host.openAt({ engine: { gateway } })
    await payAt(shards, account, 'first')
    const off = await at(east, 'packed', `insert into outlay.stop (scope, name) values ('account', new.account_id)`)
    const error = await refusal(shards.accounts.move(account, { to: 'west' }))
    await off()
    expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining('stop')])
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved' })
    expect(await rows(west, 'select scope, name from outlay.stop')).toEqual([{ scope: 'account', name: account }])
    await shards.start()
    await shards.stop()
    expect(gateway.submissions).toEqual([])
  })

  it('is stopped and paused by a person while transfers of it are still sent, and takes that along', async () => {
    const { shards, account } = await host.openAt()
    const { id } = await payAt(shards, account, 'first')
    await payAt(shards, account, 'second')
    const [open, stopping] = [await east.connect(), await east.connect()]
    let moving: Promise<unknown> = Promise.resolve()
    const left = async () => (await rows(east, 'select from outlay.transfer')).length
    try {
      // This one is packed later.
      await open.query('begin')
      await open.query(`select from outlay.transfer where id = '${id}' for update`)
      let passes = 0
      moving = shards.accounts.move(account, {
        to: 'west',
        onProgress({ step }) {
          if (step === 'packing') passes += 1
        },
      })
      await waitUntil(async () => (await left()) === 1)
      await stopping.query('begin')
      expect(await shards.accounts.pause(stopping, account)).toBe(true)
      await shards.stops.add(stopping, { scope: 'account', name: account })
      // Anything else waits for the end of the move.
      expect((await refusal(shards.accounts.resume(stopping, account))).code).toBe('account_moving')
      await open.query('commit')
      // All that is committed is packed, and the packing goes on until nothing else can come.
      await waitUntil(async () => (await left()) === 0)
      const before = passes
      await waitUntil(() => passes > before + 2)
    } finally {
      await open.query('commit')
      await stopping.query('commit')
      for (const one of [open, stopping]) one.release()
    }
    expect(await moving).toMatchObject({ result: 'moved', transfers: 2 })
    expect(await rows(west, 'select paused from outlay.account')).toEqual([{ paused: true }])
    expect(await rows(west, 'select scope, name from outlay.stop')).toEqual([{ scope: 'account', name: account }])
    for (const table of ['account', 'stop'])
      expect([table, await rows(east, `select from outlay.${table}`)]).toEqual([table, []])
  })

  it('is stopped where it arrives while its transfers become those of that node', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    await shards.transaction(account, (tx) => shards.accounts.configure(tx, account, { weight: 2 }))
    const endAt = (last: string) => ({
      to: 'west',
      onProgress({ step }: { readonly step: string }) {
        if (step === last) throw new Error('The mover ends here.')
      },
    })
    const stop = () =>
      shards.transaction(account, (tx) => shards.stops.add(tx, { scope: 'account', name: account, reason: 'odd' }))
    await expect(shards.accounts.move(account, endAt('switched'))).rejects.toThrow('ends here')
    expect((await refusal(stop())).code).toBe('account_moving')
    await expect(shards.accounts.move(account, endAt('unpacking'))).rejects.toThrow('ends here')
    await stop()
    const pause = shards.transaction(account, (tx) => shards.accounts.pause(tx, account))
    expect((await refusal(pause)).code).toBe('account_moving')
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved' })
    expect(await rows(west, 'select name, reason from outlay.stop')).toEqual([{ name: account, reason: 'odd' }])
  })

  it('ends its packing only when nothing of the account is left in any table', async () => {
    const { shards, account } = await host.openAt()
    const { id } = await payAt(shards, account, 'first')
    const call = async (text: string, ...values: unknown[]) =>
      (await rows(east, `select outlay.${text} as it`, ...values))[0]?.it
    await call(`move_depart($1, 'west', 7, null, null)`, account)
    expect(await call(`move_pack_rest($1, 7, 'first', 100)`, account)).toBe(0)
    await east.query(`select * from outlay.move_pack($1, 7, '', 100, true)`, [account])
    for (const [table, sql] of [
      ['stop', `insert into outlay.stop (scope, name) values ('account', '${account}')`],
      ['return_report', `insert into outlay.return_report (transfer_id, changed_at) values ('${id}', now())`],
    ] as const) {
      await east.query(sql)
      expect([table, await call('move_pack_end($1, 7)', account)]).toEqual([table, table])
      await east.query(`delete from outlay.${table}`)
    }
    expect(await call('move_pack_end($1, 7)', account)).toBe('')
  })

  it('names the table whose copy differs', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    await west.query(`create function drop_rows() returns trigger language plpgsql as $$ begin return null; end $$`)
    await west.query(
      `create trigger drop_rows before insert on outlay.moved_row for each row when (new.kind = 'outbox') execute function drop_rows()`,
    )
    const error = await refusal(shards.accounts.move(account, { to: 'west' }))
    await west.query('drop trigger drop_rows on outlay.moved_row; drop function drop_rows()')
    expect(error.message).toContain('the copy of outbox')
    expect(await host.live(account)).toMatchObject({ east: { length: 1 }, west: [] })
  })

  it('compares what was copied before the pause, and copies again what has changed since', async () => {
    const { shards, account } = await host.openAt({ engine: { gateway: memoryGateway({ idPrefix: 'early' }) } })
    await shards.start()
    for (const key of ['ended', 'changed', 'noted']) await payAt(shards, account, key)
    await drain({ backlog: () => shards.backlog() })
    await shards.stop()
    await payAt(shards, account, 'open')
    const idOf = async (key: string) => (await shards.transfers.getByKey(account, key))?.id
    // When the pause begins, three are copied; one of them changes, and one has a row that the first node has not.
    await east.query(`insert into outlay.transfer_metadata values ('${await idOf('noted')}', 'note', 'x')`)
    const off = await at(
      west,
      'arriving',
      `if (select count(*) from outlay.moved_row m where m.kind = 'transfer') <> 3 then raise 'not copied'; end if;
       update outlay.moved_row m set content = '[{}]' where m.key = '${await idOf('changed')}' and m.kind = 'event';
       insert into outlay.moved_row select m.account_id, 'delivery', m.key, m.content from outlay.moved_row m where m.kind = 'attempt' limit 1`,
    )
    const tables = ['transfer', 'event', 'attempt', 'transfer_metadata']
    const all = async (on: pg.Pool) =>
      Promise.all(tables.map((name) => rows(on, `select to_jsonb(t) as row from outlay.${name} t order by 1`)))
    const before = await all(east)
    expect(before.map((one) => one.length)).toEqual([4, expect.any(Number), 3, 1])
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 4 })
    await off()
    expect(await all(west)).toEqual(before)
    for (const on of [east, west]) expect(await rows(on, 'select from outlay.moved_row')).toEqual([])
  })

  it('receives no copy of before the pause in it', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    const call = async (text: string) => (await rows(west, `select outlay.${text} as it`, account))[0]?.it
    const receive = (state: string) =>
      call(
        state === 'expecting'
          ? `move_receive($1, 7, '{event}', '{x}', '{"[]"}')`
          : `move_replace($1, 7, 'event', '', null, '{x}', '{"[]"}')`,
      )
    expect(await call(`move_expect($1, 'west', 7, null, null)`)).toBe('expecting')
    expect([await receive('expecting'), await receive('arriving')]).toEqual([true, false])
    expect(await call('move_arrive($1, 7)')).toBe('arriving')
    expect([await receive('expecting'), await receive('arriving')]).toEqual([false, true])
    expect(await call(`move_back($1, 'east', 7, false)`)).toBe('departed')
    expect([await receive('expecting'), await receive('arriving')]).toEqual([false, false])
  })

  it('takes along what limits on sums have counted of it, and what people let pass', async () => {
    const gateway = memoryGateway({ idPrefix: 'sums' })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    const other = `other-${account}`
    await host.route.assign(other, 'east')
    const limits = [
      { name: 'account', most: { USD: '30' }, span: 'month', zone: 'UTC', per: ['account'] },
      { name: 'all', most: { USD: '100' }, span: 'month', zone: 'UTC' },
    ] as const
    for (const node of shards.nodes)
      await node.driver.transaction((tx) => shards.limits.set(tx, limits, { actor: 'ann', reason: 'test' }))
    await shards.start()
    for (const key of ['first', 'second']) await payAt(shards, account, key)
    await payAt(shards, other, 'first')
    await drain({ backlog: () => shards.backlog() })
    const third = await payAt(shards, account, 'third')
    await waitUntil(async () => (await shards.transfers.get(third.id))?.stage === 'held')
    await east.query(`insert into outlay.limit_pass values ('${third.id}', 'unknown')`)
    const uses = async (on: pg.Pool) =>
      (await rows(on, 'select used::text as used from outlay.limit_use order by used')).map(({ used }) => Number(used))
    expect(await uses(east)).toEqual([12.5, 25, 37.5])
    await shards.accounts.move(account, { to: 'west' })
    expect([await uses(east), await uses(west)]).toEqual([
      [0, 12.5, 12.5],
      [25, 25],
    ])
    expect(await rows(west, 'select transfer_id from outlay.limit_pass')).toEqual([{ transfer_id: third.id }])
    const fourth = await payAt(shards, account, 'fourth')
    await waitUntil(async () => (await shards.transfers.get(fourth.id))?.stage === 'held')
    expect(gateway.submissions).toHaveLength(3)
    await shards.accounts.move(account, { to: 'east' })
    expect([await uses(east), await uses(west)]).toEqual([
      [12.5, 25, 37.5],
      [0, 0],
    ])
  })

  it('waits for what may not see on the new node that the account arrives, before the pause', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    const open = await west.connect()
    try {
      await open.query('begin isolation level repeatable read')
      await open.query('select from outlay.transfer')
      const error = await refusal(shards.accounts.move(account, { to: 'west', waitMs: 100 }))
      expect([error.code, error.field, error.message]).toEqual([
        ...['conflict', 'waitMs', expect.stringContaining('have not ended on "west"')],
      ])
      expect(await rows(east, 'select state from outlay.departed_account where account_id = $1', account)).toEqual([
        { state: 'here' },
      ])
    } finally {
      await open.query('commit')
      open.release()
    }
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 1 })
  })

  it('is not read by an old route as if it had no settings', async () => {
    const { shards, account } = await host.openAt()
    await shards.transaction(account, (tx) => shards.accounts.pause(tx, account))
    const old = host.make({ route: { find: () => 'east', forget: () => undefined } })
    expect(await old.accounts.get(account)).toMatchObject({ paused: true })
    await shards.accounts.move(account, { to: 'west' })
    expect((await refusal(old.accounts.get(account))).code).toBe('wrong_node')
    expect(await shards.accounts.get(account)).toMatchObject({ paused: true })
  })
})
