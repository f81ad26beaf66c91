import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { moveHost } from '../../test/move-host.ts'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { refusal } from '../../test/shard-host.ts'
import { pgDriver } from '../drivers/pg.ts'
import { directory } from './directory.ts'

describe('which node may have an account', async () => {
  const host = await moveHost()
  const { east, west } = host

  const stateOf = async (on: pg.Pool, account: string) => {
    const { rows } = await on.query('select state from outlay.departed_account where account_id = $1', [account])
    return rows[0]?.state
  }
  /** A move that ends at a step, as that of a process that dies there, of more transfers than go in one statement. */
  const moveUntil = async (step: string) => {
    const { shards, account } = await host.openAt()
    const requests = Array.from({ length: 600 }, (_, n) => samplePayout(account, { idempotencyKey: `key-${n}` }))
    await shards.transaction(account, (tx) => shards.transfers.enqueueMany(tx, requests))
    await shards.transaction(account, (tx) => shards.accounts.pause(tx, account))
    const ids = (await host.live(account)).east
    let isNext = false
    const onProgress = (progress: { readonly step: string; readonly done: number }) => {
      if (progress.step === step && (step !== 'unpacking' || progress.done > 400)) isNext = true
      if (isNext) throw new Error('The mover ends here.')
    }
    await expect(shards.accounts.move(account, { to: 'west', onProgress })).rejects.toThrow('ends here')
    return { shards, account, ids }
  }
  /** The directory as it was before it had switched the route. */
  const forgetSwitch = async (account: string) => {
    await east.query(
      `update outlay_directory.account_move set state = 'leaving', switched_at = null, transfers = null, resumed_at = null, ended_at = null
       where account_id = $1`,
      [account],
    )
    await east.query(`update outlay_directory.account set node = 'east' where account_id = $1`, [account])
    host.route.forget(account)
  }
  const expectWest = async (account: string, ids: readonly string[]) => {
    expect(await host.live(account)).toEqual({ east: [], west: ids })
    expect([await stateOf(east, account), await stateOf(west, account)]).toEqual(['departed', 'here'])
    expect(await host.route.find(account)).toBe('west')
    for (const on of [east, west]) expect((await on.query('select from outlay.moved_row')).rows).toEqual([])
  }

  it.each(['unpacking', 'arrived', 'ended'])(
    'is not two of them where the directory lost the switch of a move that ended at the step "%s"',
    async (step) => {
      const { shards, account, ids } = await moveUntil(step)
      await forgetSwitch(account)
      const error = await refusal(shards.accounts.move(account, { to: 'east' }))
      expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining('finish it with to: "west"')])
      const { east: there, west: here } = await host.live(account)
      expect([there, here.length > 0]).toEqual([[], true])
      await shards.accounts.move(account, { to: 'west' })
      await expectWest(account, ids)
    },
  )

  it('is the first one where the directory lost the switch before the new one had it', async () => {
    const { shards, account, ids } = await moveUntil('switched')
    await forgetSwitch(account)
    expect(await shards.accounts.move(account, { to: 'east' })).toMatchObject({ result: 'returned' })
    expect(await host.live(account)).toEqual({ east: ids, west: [] })
    expect([await stateOf(east, account), await stateOf(west, account)]).toEqual(['here', 'departed'])
  })

  it('is asked of the nodes where the directory does not know of the move at all', async () => {
    for (const step of ['unpacking', 'ended']) {
      const { shards, account, ids } = await moveUntil(step)
      await forgetSwitch(account)
      await east.query('delete from outlay_directory.account_move where account_id = $1', [account])
      await shards.accounts.move(account, { to: 'west' })
      await expectWest(account, ids)
    }
  })

  it('is no node that has handed the account over, whatever is asked of it', async () => {
    const { account } = await moveUntil('unpacking')
    const { rows } = await east.query('select version::text from outlay.departed_account where account_id = $1', [
      account,
    ])
    const later = (BigInt(rows[0].version) + 1n).toString()
    for (const move of [rows[0].version, later]) {
      await east.query(`select outlay.move_back($1, 'east', $2, true)`, [account, move])
      await east.query(`select outlay.move_depart($1, 'north', $2, null, null)`, [account, move])
      await west.query(`select outlay.move_expect($1, 'west', $2, null, null)`, [account, move])
      await west.query(`select outlay.move_back($1, 'east', $2, false)`, [account, move])
      expect([await stateOf(east, account), await stateOf(west, account)]).toEqual(['handed_over', 'unpacking'])
    }
  })

  it('goes on from the rows of the first one where the new one has lost them after the switch', async () => {
    const { shards, account, ids } = await moveUntil('switched')
    await west.query('delete from outlay.departed_account where account_id = $1', [account])
    await west.query('delete from outlay.moved_row where account_id = $1', [account])
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved' })
    await expectWest(account, ids)
  })

  it('keeps no row that comes late, and stops at one that it cannot unpack', async () => {
    const { shards, account, ids } = await moveUntil('unpacking')
    const { rows } = await west.query('select version::text from outlay.departed_account where account_id = $1', [
      account,
    ])
    const late = `select outlay.move_replace($1, $2, 'event', '', null, '{late}', '{"[]"}') as is_done`
    expect((await west.query(late, [account, rows[0].version])).rows).toEqual([{ is_done: false }])
    await west.query(`insert into outlay.moved_row values ($1, 'unheard_of', 'x', '[]')`, [account])
    await expect(shards.accounts.move(account, { to: 'west' })).rejects.toThrow('unheard_of')
    await west.query(`delete from outlay.moved_row where kind = 'unheard_of'`)
    await shards.accounts.move(account, { to: 'west' })
    await expectWest(account, ids)
  })

  it('is no other database that answers at the address of a node since an earlier move', async () => {
    const northUrl = await host.server.createDatabase('north')
    await migrateOutbox(northUrl)
    const north = new pg.Pool({ connectionString: northUrl, max: 4 })
    north.on('error', () => undefined)
    const { shards: right, account } = await host.openAt()
    const { id } = await right.transaction(account, (tx) => right.transfers.enqueue(tx, samplePayout(account)))
    const driver = pgDriver(east)
    let at = east
    const query: typeof driver.query = (...given) => pgDriver(at).query(...given)
    const nodes = {
      ...{
        east: { driver: { ...driver, query } },
        west: { driver: pgDriver(west) },
        north: { driver: pgDriver(north) },
      },
    }
    const shards = await host.open({ route: host.route, nodes })
    expect(await shards.accounts.move(account, { to: 'east' })).toMatchObject({ result: 'there' })
    at = north
    const error = await refusal(shards.accounts.move(account, { to: 'west' }))
    expect([error.code, error.message]).toEqual(['wrong_node', expect.stringContaining('is the node "north"')])
    expect([await host.route.find(account), await host.live(account)]).toEqual(['east', { east: [id], west: [] }])
    at = east
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 1 })
    await shards.stop()
    await north.end()
  })

  it('keeps its lock where the server ends transactions that are idle', async () => {
    const { account } = await host.openAt()
    const pool = new pg.Pool({
      connectionString: host.eastUrl,
      max: 4,
      options: '-c idle_in_transaction_session_timeout=500',
    })
    pool.on('error', () => undefined)
    const route = directory({ pool })
    const tried = await route.moves.alone(account, async () => {
      await east.query('select pg_sleep(1)')
      return host.route.moves.alone(account, async () => 'too')
    })
    expect(tried).toEqual({ value: undefined })
    await route.close()
    await pool.end()
  })
})
