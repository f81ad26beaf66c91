import { startTcpProxy, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { samplePayout } from '../../test/outbox.ts'
import { enqueueAt, refusal, shardHost } from '../../test/shard-host.ts'
import { directory } from './directory.ts'

describe('the directory of accounts', async () => {
  const host = await shardHost()
  const { east, west } = host
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const queries: string[] = []
  const pool = new pg.Pool({ connectionString: host.eastUrl, max: 4 })
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    client.query = ((...given: unknown[]) => {
      queries.push(String((given[0] as { name?: string }).name ?? given[0]))
      return query(...given)
    }) as typeof client.query
  })
  afterAll(() => pool.end())
  await directory({ pool }).migrate()
  const reads = () => queries.filter((name) => name.endsWith('_find')).length
  const move = (accountId: string, node: string) =>
    east.query('update outlay_directory.account set node = $2 where account_id = $1', [accountId, node])

  it('assigns an account once, however many do it at once', async () => {
    const route = directory({ pool })
    const nodes = await Promise.all(['east', 'west', 'east', 'west'].map((node) => route.assign('first', node)))
    expect(new Set(nodes).size).toBe(1)
    expect(await route.find('first')).toBe(nodes[0])
    await route.close()
  })

  it('reads an account once, and again after a change that another process announces', async () => {
    const route = directory({ pool, logger: silent })
    await route.listen()
    await route.assign('moved', 'east')
    const before = reads()
    expect(await Promise.all([route.find('moved'), route.find('moved')])).toEqual(['east', 'east'])
    expect([route.find('moved'), reads() - before]).toEqual(['east', 1])
    await move('moved', 'west')
    await waitUntil(async () => (await route.find('moved')) === 'west', { timeoutMs: 60_000 })
    expect([route.find('moved'), reads() - before]).toEqual(['west', 2])
    await route.close()
  })

  it('does no harm with a route that is old: the node refuses, and the next call has the new one', async () => {
    const route = directory({ pool, logger: silent, maxAgeMs: 3_600_000 })
    const shards = await host.open({ route })
    await route.listen()
    await route.assign('stale', 'east')
    await enqueueAt(shards, 'stale')
    // It receives no change any more.
    await route.close()
    await east.query(`insert into outlay.departed_account (account_id, to_node, version) values ('stale', 'west', 2)`)
    await move('stale', 'west')
    expect(route.find('stale')).toBe('east')
    const error = await refusal(enqueueAt(shards, 'stale'))
    expect([error.code, (await host.accountsOf(east)).length]).toEqual(['wrong_node', 1])
    await enqueueAt(shards, 'stale')
    expect(await host.accountsOf(west)).toEqual(['stale'])
    await shards.transaction('stale', (tx) =>
      shards.transfers.enqueueMany(tx, [samplePayout('stale'), samplePayout('stale')]),
    )
    expect(await host.accountsOf(west)).toHaveLength(3)
  })

  it('serves what it knows while its database cannot be reached, and says so for what it does not know', async () => {
    const proxy = await startTcpProxy({
      host: new URL(host.eastUrl).hostname,
      port: Number(new URL(host.eastUrl).port),
    })
    const url = new URL(host.eastUrl)
    url.host = `${proxy.host}:${proxy.port}`
    const cut = new pg.Pool({ connectionString: url.href, max: 2 })
    cut.on('error', () => undefined)
    const route = directory({ pool: cut, logger: silent, maxAgeMs: 1 })
    await route.assign('known', 'east')
    expect(await route.find('known')).toBe('east')
    proxy.cut()
    expect(await route.find('known')).toBe('east')
    expect((await refusal(Promise.resolve(route.find('other')))).code).toBe('node_unavailable')
    await route.close()
    await cut.end()
    await proxy.stop()
  })

  it('refuses an account without a node, and counts each change of a row', async () => {
    const route = directory({ pool, logger: silent })
    const error = await refusal(Promise.resolve(route.find('nobody')))
    expect([error.code, error.field]).toEqual(['not_found', 'accountId'])
    expect(await route.assign('nobody', 'west')).toBe('west')
    expect(await route.find('nobody')).toBe('west')
    await move('nobody', 'east')
    const { rows } = await east.query(
      `select version::integer, state, to_node from outlay_directory.account where account_id = 'nobody'`,
    )
    expect(rows).toEqual([{ version: 2, state: 'settled', to_node: null }])
    await route.close()
  })
})
