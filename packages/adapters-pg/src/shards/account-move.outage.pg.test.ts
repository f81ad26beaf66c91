import { startTcpProxy, type TcpProxy } from '@outlay/testing'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { refusal } from '../../test/shard-host.ts'
import { pgDriver } from '../drivers/pg.ts'
import { directory } from './directory.ts'

describe('a move that loses a database', async () => {
  const host = await moveHost()
  const { east, west } = host

  /** A pool behind a proxy that can be cut. */
  const behind = async (url: string): Promise<{ readonly pool: pg.Pool; readonly proxy: TcpProxy }> => {
    const { hostname, port } = new URL(url)
    const proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    const through = Object.assign(new URL(url), { host: `${proxy.host}:${proxy.port}` })
    const pool = new pg.Pool({ connectionString: through.href, max: 4, connectionTimeoutMillis: 5_000 })
    pool.on('error', () => undefined)
    return { pool, proxy }
  }
  const stateOf = async (on: pg.Pool, account: string) => {
    const { rows } = await on.query('select state from outlay.departed_account where account_id = $1', [account])
    return rows[0]?.state
  }

  const losses = [
    ['east', 'packing', 'leaving'],
    ['east', 'verified', 'packed'],
    ['west', 'copying', 'packed'],
    ['east', 'arrived', 'handed_over'],
    ['west', 'switched', 'handed_over'],
  ] as const
  it.each(losses)('that of the %s at the step "%s" goes on when it is called again', async (node, step, left) => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    const { pool, proxy } = await behind(node === 'east' ? host.eastUrl : host.westUrl)
    const cut = host.make({
      nodes: {
        east: { driver: pgDriver(node === 'east' ? pool : east) },
        west: { driver: pgDriver(node === 'west' ? pool : west) },
      },
      route: host.route,
    })
    const onProgress = (progress: { readonly step: string }) => {
      if (progress.step === step) proxy.cut()
    }
    expect((await refusal(cut.accounts.move(account, { to: 'west', onProgress }))).code).toBe('node_unavailable')
    expect(await stateOf(east, account)).toBe(left)
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 1 })
    expect(await host.live(account)).toMatchObject({ east: [], west: { length: 1 } })
    await pool.end()
    await proxy.stop()
  })

  it('says that the directory is away, changes nothing, and moves when it is back', async () => {
    const { account } = await host.openAt()
    const { pool, proxy } = await behind(host.eastUrl)
    const route = directory({ pool })
    const shards = host.make({ route })
    await payAt(shards, account, 'first')
    proxy.cut()
    const { code, message } = await refusal(shards.accounts.move(account, { to: 'west' }))
    expect([code, message]).toEqual([
      'node_unavailable',
      expect.stringContaining('The node "directory" did not answer'),
    ])
    proxy.heal()
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 1 })
    await route.close()
    await pool.end()
    await proxy.stop()
  })

  it('goes back to the old node also while the new one is away, and ends when that is back', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    const { pool, proxy } = await behind(host.westUrl)
    const cut = host.make({
      nodes: { east: { driver: pgDriver(east) }, west: { driver: pgDriver(pool) } },
      route: host.route,
    })
    const onProgress = ({ step }: { readonly step: string }) => {
      if (step === 'copying') proxy.cut()
    }
    for (const to of ['west', 'east'])
      expect((await refusal(cut.accounts.move(account, { to, onProgress }))).code).toBe('node_unavailable')
    await payAt(shards, account, 'second')
    expect([await stateOf(east, account), await stateOf(west, account)]).toEqual(['here', 'arriving'])
    expect(await shards.accounts.move(account, { to: 'east' })).toMatchObject({ result: 'returned' })
    expect([await stateOf(east, account), await stateOf(west, account)]).toEqual(['here', 'departed'])
    expect(await host.live(account)).toMatchObject({ east: { length: 2 }, west: [] })
    await pool.end()
    await proxy.stop()
  })

  it('ends at the new node while the old one is away, once that has begun to unpack', async () => {
    const { shards, account } = await host.openAt()
    for (const key of ['first', 'second']) await payAt(shards, account, key)
    const onProgress = ({ step }: { readonly step: string }) => {
      if (step === 'unpacking') throw new Error('The mover ends here.')
    }
    await shards.transaction(account, (tx) => shards.accounts.pause(tx, account))
    await expect(shards.accounts.move(account, { to: 'west', onProgress })).rejects.toThrow('ends here')
    expect([await stateOf(east, account), await stateOf(west, account)]).toEqual(['handed_over', 'unpacking'])
    expect((await host.live(account)).west).toEqual([])
    const { pool, proxy } = await behind(host.eastUrl)
    proxy.cut()
    const cut = host.make({
      nodes: { east: { driver: pgDriver(pool) }, west: { driver: pgDriver(west) } },
      route: host.route,
    })
    for (const _ of ['unpacks', 'has it already'])
      expect((await refusal(cut.accounts.move(account, { to: 'west' }))).code).toBe('node_unavailable')
    expect([await stateOf(east, account), await stateOf(west, account)]).toEqual(['handed_over', 'here'])
    await payAt(cut, account, 'third')
    expect(await host.live(account)).toMatchObject({ east: [], west: { length: 3 } })
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 2 })
    expect(await stateOf(east, account)).toBe('departed')
    await pool.end()
    await proxy.stop()
  })

  it('goes on after the server of the new node has crashed and recovered', async () => {
    const { shards, account } = await host.openAt()
    await payAt(shards, account, 'first')
    const onProgress = ({ step }: { readonly step: string }) => {
      if (step === 'switched') throw new Error('The mover ends here.')
    }
    await expect(shards.accounts.move(account, { to: 'west', onProgress })).rejects.toThrow('ends here')
    await host.server.restart({ mode: 'immediate' })
    expect([await stateOf(east, account), await stateOf(west, account)]).toEqual(['packed', 'arriving'])
    expect((await refusal(payAt(shards, account, 'second'))).code).toBe('account_moving')
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 1 })
    expect(await host.live(account)).toMatchObject({ east: [], west: { length: 1 } })
  })
})
