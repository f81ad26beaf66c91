import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { refusal } from '../../test/shard-host.ts'
import { directory } from './directory.ts'

describe('many moves at once', async () => {
  const host = await moveHost()
  const pools: pg.Pool[] = []
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.end()))
  })
  /** Shards whose directory has so many connections. */
  const openNarrow = async (max: number) => {
    const pool = new pg.Pool({ connectionString: host.eastUrl, max })
    pools.push(pool)
    // Two directories on one pool are as one.
    const [route, other] = [directory({ pool }), directory({ pool })]
    return { route, shards: host.make({ route }), others: host.make({ route: other }) }
  }
  const accountsOf = async (count: number) => {
    const accounts: string[] = []
    for (let at = 0; at < count; at += 1) {
      const { shards, account } = await host.openAt()
      await payAt(shards, account, 'first')
      accounts.push(account)
    }
    return accounts
  }

  it('wait for each other, and leave a connection for their statements', async () => {
    const accounts = await accountsOf(5)
    const { shards, others, route } = await openNarrow(3)
    const moved = await Promise.all(
      accounts.map((account, at) => (at % 2 === 0 ? shards : others).accounts.move(account, { to: 'west' })),
    )
    expect(moved.map(({ result }) => result)).toEqual(accounts.map(() => 'moved'))
    await route.close()
  })

  it('can be aborted while they wait, and leave nothing', async () => {
    const [account = ''] = await accountsOf(1)
    const { shards, route } = await openNarrow(2)
    const held = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const other = route.moves.alone('other', () => {
      began.resolve()
      return held.promise
    })
    await began.promise
    const abort = new AbortController()
    const moves = [abort.signal, undefined].map((signal) => shards.accounts.move(account, { to: 'west', signal }))
    abort.abort()
    expect((await refusal(moves[0] as Promise<unknown>)).code).toBe('aborted')
    expect((await refusal(shards.accounts.move(account, { to: 'west', signal: abort.signal }))).code).toBe('aborted')
    const { rows } = await host.east.query('select from outlay_directory.account_move where account_id = $1', [account])
    expect(rows).toEqual([])
    held.resolve()
    await other
    expect(await moves[1]).toMatchObject({ result: 'moved' })
    await route.close()
  })

  it('go on behind one that is refused', async () => {
    const [account = ''] = await accountsOf(1)
    const { shards, route } = await openNarrow(2)
    const moves = ['nobody', account].map((one) => shards.accounts.move(one, { to: 'west' }))
    expect((await refusal(moves[0] as Promise<unknown>)).code).toBe('not_found')
    expect(await moves[1]).toMatchObject({ result: 'moved' })
    await route.close()
  })
})
