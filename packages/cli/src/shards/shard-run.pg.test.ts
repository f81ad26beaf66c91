import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { directory as openDirectory, pgDriver, shards } from '@outlay/adapters-pg'
import { memoryGateway, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

const payout = {
  amount: { value: '12.50', currency: 'USD' },
  source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
  destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
}

describe('with a file of shards', async () => {
  const host = await testHost()
  const westUrl = await host.database.another()
  const west = new pg.Pool({ connectionString: westUrl, max: 4 })
  const directory = await mkdtemp(join(tmpdir(), 'outlay-cli-shards-'))
  afterAll(async () => {
    await west.end()
    await rm(directory, { recursive: true })
  })
  const write = async (name: string, text: string) => {
    const path = join(directory, name)
    await writeFile(path, text)
    return path
  }
  const dead = 'postgres://nobody:secret@127.0.0.1:1/none'
  const env = { EAST_URL: host.database.url, WEST_URL: westUrl, DEAD_URL: dead }
  const both = await write('both.json', JSON.stringify({ nodes: { east: '$EAST_URL', west: '$WEST_URL' } }))
  const broken = await write(
    'broken.json',
    JSON.stringify({ nodes: { east: '$EAST_URL', gone: '$DEAD_URL', west: '$WEST_URL' } }),
  )
  const routed = await write(
    'routed.mjs',
    `export const nodes = { east: '$EAST_URL', west: '$WEST_URL' }\nexport const route = (account) => account[0] === 'w' ? 'west' : 'east'\n`,
  )
  const run = (file: string, ...args: string[]) => outlay([...args, '--shards', file], env)
  const read = async (file: string, ...args: string[]) => {
    const { code, stdout, stderr } = await run(file, ...args, '--json')
    if (stdout === '') throw new Error(stderr)
    return {
      code,
      ...(JSON.parse(stdout) as { nodes: Record<string, never>; missing: { node: string; code: string }[] }),
    }
  }
  const open = async () => {
    const one = shards({
      nodes: { east: { driver: host.driver }, west: { driver: pgDriver(west) } },
      route: (accountId) => (accountId.startsWith('w') ? 'west' : 'east'),
      engine: { gateway: memoryGateway() },
    })
    await west.query('truncate outlay.shard_node, outlay.transfer cascade')
    await one.migrate()
    return (accountId: string) =>
      one.transaction(accountId, (tx) => one.transfers.enqueue(tx, { ...payout, accountId }))
  }
  const stages = async () => (await west.query('select stage, status from outlay.transfer order by id')).rows

  it('reconciles no account on a node that is not its own, by the function or the directory of the file', async () => {
    const route = openDirectory({ pool: west })
    await route.migrate()
    await route.assign('w-1', 'west')
    await route.close()
    const directed = await write(
      'directed.json',
      JSON.stringify({ nodes: { east: '$EAST_URL', west: '$WEST_URL' }, directory: '$WEST_URL' }),
    )
    const options = ['--node', 'east', '--since', '1h', '--gateway-module', 'none.mjs', '--account', 'w-1']
    for (const file of [routed, directed]) {
      const { code, stderr } = await run(file, 'reconcile', ...options)
      expect([code, stderr]).toEqual([2, expect.stringContaining('The account w-1 is on the node "west"')])
    }
    // Without either, nobody knows.
    expect((await run(both, 'reconcile', ...options)).stderr).toContain('none.mjs')
  })

  it('reads all nodes, each under its name', async () => {
    const enqueue = await open()
    const [inEast, inWest] = [await enqueue('e-1'), await enqueue('w-1')]
    const { code, nodes, missing } = await read(both, 'transfers', 'list')
    expect([code, missing]).toEqual([0, []])
    expect(nodes).toMatchObject({ east: [{ id: inEast.id }], west: [{ id: inWest.id }] })
    const { stdout } = await run(both, 'status')
    expect(stdout).toMatch(/── east ──\nHELD.*── west ──\nHELD/s)
  })

  it('does what is about a thing on the node that has it', async () => {
    const enqueue = await open()
    const [inEast, inWest] = [await enqueue('e-1'), await enqueue('w-1')]
    expect((await run(both, 'transfers', 'cancel', inWest.id)).code).toBe(0)
    expect(await stages()).toEqual([{ stage: 'settled', status: 'canceled' }])
    const note = ['--actor', 'olga', '--reason', 'odd']
    expect(Object.keys((await read(both, 'transfers', 'hold', inEast.id, ...note)).nodes)).toEqual(['east'])
    expect(Object.keys((await read(both, 'transfers', 'reject', inEast.id, ...note)).nodes)).toEqual(['east'])
    const apart = await run(both, 'transfers', 'cancel', inEast.id, inWest.id)
    expect([apart.code, apart.stderr]).toEqual([2, expect.stringContaining('are on the nodes east and west')])
    expect((await run(both, 'transfers', 'show', '01J0000000000000000000000A')).stderr).toContain(
      'No node has the transfer',
    )
    expect(Object.keys((await read(both, 'accounts', 'pause', 'w-1')).nodes)).toEqual(['west'])
    expect((await west.query('select paused from outlay.account')).rows).toEqual([{ paused: true }])
    expect(Object.keys((await read(routed, 'accounts', 'pause', 'e-new')).nodes)).toEqual(['east'])
    await west.query('truncate outlay.account')
  })

  it('ends a stop of an account on every node, since it was set on every one before there were transfers', async () => {
    const enqueue = await open()
    const stops = async () =>
      Promise.all([host.pool, west].map(async (on) => (await on.query('select name from outlay.stop')).rows.length))
    expect(Object.keys((await read(both, 'stop', '--account', 'w-9')).nodes)).toEqual(['east', 'west'])
    await enqueue('w-9')
    expect(await stops()).toEqual([1, 1])
    expect(await read(both, 'start-sending', '--account', 'w-9')).toMatchObject({
      code: 0,
      nodes: { east: { changed: true }, west: { changed: true } },
    })
    expect(await stops()).toEqual([0, 0])
    expect(Object.keys((await read(routed, 'start-sending', '--account', 'w-9')).nodes)).toEqual(['west'])
  })

  it('says of what is between two nodes that it moves, and not that no node has it', async () => {
    const enqueue = await open()
    const { id } = await enqueue('w-1')
    await host.pool.query(
      `insert into outlay.moved_row values ('w-1', 'transfer', $1, '[]'), ('w-1', 'batch', 'batch-1', '[]')`,
      [id],
    )
    await host.pool.query(
      `insert into outlay.departed_account (account_id, to_node, version, state) values ('w-1', 'west', 1, 'packed')`,
    )
    await west.query('truncate outlay.transfer cascade')
    for (const args of [
      ['transfers', 'cancel', id],
      ['batches', 'pause', 'batch-1'],
      ['accounts', 'pause', 'w-1'],
    ]) {
      const { code, stderr } = await run(both, ...args)
      expect([code, stderr]).toEqual([1, expect.stringContaining('moves to another node at this moment')])
    }
    await host.pool.query('truncate outlay.moved_row, outlay.departed_account')
  })

  it('does the others where a node does not answer, names that one, and fails', async () => {
    await open()
    const stopped = await read(broken, 'stop', '--all')
    expect([stopped.code, Object.keys(stopped.nodes)]).toEqual([1, ['east', 'west']])
    expect(stopped.missing).toMatchObject([{ node: 'gone', code: 'ECONNREFUSED' }])
    expect((await west.query('select scope from outlay.stop')).rows).toEqual([{ scope: 'all' }])
    const { stderr } = await run(broken, 'start-sending', '--all')
    expect(stderr).toContain('gone: No server answers there.')
    expect(stderr).not.toContain('secret')
    expect((await west.query('select scope from outlay.stop')).rows).toEqual([])
  })

  it('acts on the others before a node has answered that does not', async () => {
    await open()
    const sockets = new Set<Socket>()
    const left: Socket[] = []
    const silent = createServer((socket) => {
      sockets.add(socket.resume())
      // The command gives it up.
      socket.on('close', () => left.push(socket)).on('error', () => undefined)
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    const nodes = { silent: `postgres://u@127.0.0.1:${port}/d`, west: '$WEST_URL' }
    const running = run(await write('silent.json', JSON.stringify({ nodes })), 'stop', '--all')
    const stops = async () => (await west.query('select scope from outlay.stop')).rows.length
    await waitUntil(async () => (await stops()) === 1, { timeoutMs: 60_000 })
    expect([sockets.size > 0, left]).toEqual([true, []])
    for (const socket of sockets) socket.destroy()
    silent.close()
    expect((await running).code).toBe(1)
    await west.query('truncate outlay.stop')
  })

  it('refuses connection strings that are exchanged, and acts on neither', async () => {
    await open()
    const exchanged = await write('exchanged.json', JSON.stringify({ nodes: { east: '$WEST_URL', west: '$EAST_URL' } }))
    const { code, missing } = await read(exchanged, 'stop', '--all')
    expect([code, missing.map((one) => one.code)]).toEqual([1, ['wrong_node', 'wrong_node']])
    expect((await west.query('select scope from outlay.stop')).rows).toEqual([])
  })

  it('wants a node for what is about one database, and a file that can be read', async () => {
    await open()
    expect((await run(both, 'fence')).stderr).toContain('Give --node with one of east, west.')
    expect((await run(both, 'fence', '--node', 'north')).code).toBe(2)
    expect((await run(both, 'status', '--node', 'west')).stdout).toMatch(/^── west ──/)
    expect((await outlay(['status', '--node', 'west'], env)).code).toBe(2)
    expect((await run(both, 'status', '--database-url', westUrl)).code).toBe(2)
    expect((await run(join(directory, 'none.json'), 'status')).code).toBe(2)
    const plain = await write('plain.json', JSON.stringify({ nodes: { east: 'mysql://u:secret@h/d', west: '$NONE' } }))
    const { code, stderr } = await run(plain, 'status')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^The node "east" has no connection string(?!.*secret)/s)])
  })

  it('says when the policies of the nodes differ, after they are set, shown and checked', async () => {
    await open()
    const file = async (...policies: unknown[]) => write('policies.json', JSON.stringify(policies))
    const note = ['--actor', 'petra', '--reason', 'decided']
    const set = async (path: string, ...args: string[]) => read(both, 'policies', 'set', path, ...note, ...args)
    const odd = { name: 'odd', hold: 'check it' }
    expect(await set(await file(odd))).toMatchObject({ code: 0, nodes: { east: {}, west: {} }, findings: [] })
    const west = await run(
      both,
      'policies',
      'set',
      await file(odd, { ...odd, name: 'more' }),
      ...note,
      '--node',
      'west',
    )
    expect(west.code).toBe(0)
    const differ = [{ code: 'policies_differ', what: expect.stringContaining('east: odd; west: odd, more') }]
    expect(await read(both, 'policies', 'show')).toMatchObject({ code: 0, findings: differ })
    expect(await read(both, 'doctor')).toMatchObject({ code: 1, findings: differ })
    expect((await run(both, 'doctor')).stdout).toContain('── all nodes ──')
    const refused = await run(both, 'policies', 'set', await file(), ...note)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('clear')])
    expect(await set(await file(), '--clear')).toMatchObject({ code: 0, findings: [] })
    expect(await read(both, 'status')).not.toHaveProperty('findings')
  })

  it('makes the indexes of policies about earlier transfers on every node', async () => {
    await open()
    const { code, nodes } = await read(both, 'policies', 'prepare')
    expect([code, Object.keys(nodes)]).toEqual([0, ['east', 'west']])
    for (const { made } of Object.values<{ readonly made: readonly string[] }>(nodes)) expect(made).toHaveLength(3)
    expect(await read(both, 'policies', 'prepare')).toMatchObject({ nodes: { east: { made: [] }, west: { made: [] } } })
  })

  it('names tables that are not there in the doctor', async () => {
    await open()
    const file = await write(
      'tables.json',
      JSON.stringify({ nodes: { east: '$EAST_URL' }, colocated: ['app.invoice'] }),
    )
    const { nodes } = await read(file, 'doctor')
    expect(JSON.stringify(nodes)).toContain('table_missing')
  })
})
