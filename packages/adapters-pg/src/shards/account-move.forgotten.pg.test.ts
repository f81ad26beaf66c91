import { describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { type HostShards, refusal } from '../../test/shard-host.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('a move that the directory has forgotten', async () => {
  const host = await moveHost()
  const { east, west } = host
  /** A move whose process dies at a step. */
  const dead = async (shards: HostShards, account: string, step: string) => {
    const onProgress = (progress: { readonly step: string }) => {
      // A throw before the switch takes the move back; a lost connection does not.
      if (progress.step === step) throw Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })
    }
    await expect(shards.accounts.move(account, { to: 'west', onProgress })).rejects.toThrow('connection lost')
  }
  const forget = (account: string) =>
    east.query('delete from outlay_directory.account_move where account_id = $1', [account])
  const say = async (account: string, node: string) => {
    await east.query('update outlay_directory.account set node = $2 where account_id = $1', [account, node])
    host.route.forget(account)
  }
  const states = async (account: string) => {
    const text = 'select state from outlay.departed_account where account_id = $1'
    const found = await Promise.all([east, west].map((on) => on.query(text, [account])))
    return found.map(({ rows }) => rows[0]?.state)
  }
  const expectNothingLeft = async () => {
    for (const on of [east, west]) expect((await on.query('select from outlay.moved_row')).rows).toEqual([])
  }

  it.each(['leaving', 'packed', 'verified'])(
    'is taken back at the step "%s" by a move to the node that the directory names, and the account goes on',
    async (step) => {
      const { shards, account } = await host.openAt()
      const { id } = await payAt(shards, account, 'first')
      await dead(shards, account, step)
      await forget(account)
      expect((await refusal(payAt(shards, account, 'second'))).code).toBe('account_moving')
      expect(await shards.accounts.move(account, { to: 'east' })).toMatchObject({ result: 'returned', to: 'east' })
      expect([await host.live(account), await states(account)]).toEqual([
        { east: [id], west: [] },
        ['here', 'departed'],
      ])
      await expectNothingLeft()
      expect(await shards.accounts.move(account, { to: 'east' })).toMatchObject({ result: 'there' })
      await payAt(shards, account, 'second')
      expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 2 })
    },
  )

  it('is taken back also where it was on its way back, and where the other node does not answer', async () => {
    const { shards, account } = await host.openAt()
    const { id } = await payAt(shards, account, 'first')
    await dead(shards, account, 'packed')
    await forget(account)
    await east.query(
      `select outlay.move_back(d.account_id, 'east', d.version, true) from outlay.departed_account d where d.account_id = $1`,
      [account],
    )
    const away = { ...pgDriver(west), query: async () => Promise.reject(new Error('Connection terminated')) }
    const alone = host.make({
      route: host.otherRoute(),
      nodes: { east: { driver: pgDriver(east) }, west: { driver: away } },
    })
    expect(await alone.accounts.move(account, { to: 'east' })).toMatchObject({ result: 'returned' })
    expect(await host.live(account)).toEqual({ east: [id], west: [] })
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved' })
    await expectNothingLeft()
  })

  it('is ended where the account has begun to arrive', async () => {
    const { shards, account } = await host.openAt()
    const { id } = await payAt(shards, account, 'first')
    await dead(shards, account, 'unpacking')
    await forget(account)
    host.route.forget(account)
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'there' })
    expect([await host.live(account), await states(account)]).toEqual([{ east: [], west: [id] }, ['departed', 'here']])
    await expectNothingLeft()
  })

  it('is named where the account is on the other node, to which a move corrects the directory', async () => {
    const { shards, account } = await host.openAt()
    const { id } = await payAt(shards, account, 'first')
    await shards.accounts.move(account, { to: 'west' })
    // Once the move is not known any more, and once somebody has written over the route.
    for (const isForgotten of [false, true]) {
      await say(account, 'east')
      if (isForgotten) await forget(account)
      const error = await refusal(shards.accounts.move(account, { to: 'east' }))
      expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining('move it to "west"')])
      await shards.accounts.move(account, { to: 'west' })
      expect([await host.route.find(account), await host.live(account)]).toEqual(['west', { east: [], west: [id] }])
    }
    await payAt(shards, account, 'second')
  })
})
