import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { directory, pgDriver, shards } from '@outlay/adapters-pg'
import { memoryGateway } from '@outlay/testing'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('accounts move', async () => {
  const host = await testHost()
  const westUrl = await host.database.another()
  const west = new pg.Pool({ connectionString: westUrl, max: 4 })
  const folder = await mkdtemp(join(tmpdir(), 'outlay-cli-move-'))
  const route = directory({ pool: host.pool })
  afterAll(async () => {
    await route.close()
    await west.end()
    await rm(folder, { recursive: true })
  })
  const write = async (name: string, file: unknown) => {
    const path = join(folder, name)
    await writeFile(path, JSON.stringify(file))
    return path
  }
  const nodes = { east: '$EAST_URL', west: '$WEST_URL' }
  const env = { EAST_URL: host.database.url, WEST_URL: westUrl }
  const file = await write('all.json', { nodes, directory: '$EAST_URL' })
  const bare = await write('bare.json', { nodes })
  const exchanged = await write('exchanged.json', {
    nodes: { east: '$WEST_URL', west: '$EAST_URL' },
    directory: { url: '$EAST_URL', schema: 'outlay_directory' },
  })
  const run = (path: string, ...args: string[]) => outlay(['--shards', path, 'accounts', 'move', ...args], env)
  const all = () =>
    shards({
      ...{ nodes: { east: { driver: host.driver }, west: { driver: pgDriver(west) } }, route },
      engine: { gateway: memoryGateway() },
    })

  it('moves an account, and says what it moved and for how long the account was paused', async () => {
    await route.migrate()
    const on = all()
    await on.migrate()
    await route.assign('acme', 'east')
    await on.transaction('acme', (tx) =>
      on.transfers.enqueue(tx, {
        accountId: 'acme',
        amount: { value: '12.50', currency: 'USD' },
        source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
        destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
      }),
    )
    const wrong = await run(exchanged, 'acme', '--to', 'west')
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/is the node "(east|west)"/)])
    const moved = await run(file, 'acme', '--to', 'west', '--reason', 'full', '--actor', 'ann')
    expect(moved.stdout).toMatch(/^acme moved from "east" to "west" with 1 transfer\. It was paused for \d+\.\d s/)
    const { rows } = await west.query('select account_id from outlay.transfer')
    expect([moved.code, rows]).toEqual([0, [{ account_id: 'acme' }]])
    const audit = await west.query('select command, actor, reason from outlay.audit')
    expect(audit.rows).toEqual([{ command: 'accounts.move', actor: 'ann', reason: 'full' }])
    const again = await run(file, 'acme', '--to', 'west')
    expect([again.code, again.stdout]).toEqual([0, 'acme is on "west" already; nothing changed.\n'])
  })

  it('is what the doctor asks for where a move stands still', async () => {
    const diagnose = () => outlay(['doctor', '--database-url', host.database.url, '--json'], {})
    const codes = ({ stdout }: { readonly stdout: string }) => {
      const { findings } = JSON.parse(stdout) as {
        readonly findings: readonly { readonly code: string; readonly cure: string }[]
      }
      return findings.filter(({ code }) => code.startsWith('move_')).map(({ code, cure }) => `${code} ${cure}`)
    }
    const begin = (since: string) =>
      host.pool.query(
        `insert into outlay.departed_account (account_id, to_node, version, state, departed_at)
         values ('stuck', 'west', 1000001, 'packed', clock_timestamp() - $1::interval)
         on conflict (account_id) do update set departed_at = excluded.departed_at`,
        [since],
      )
    await begin('1 minute')
    expect(codes(await diagnose())).toEqual([])
    await begin('10 minutes')
    const found = await diagnose()
    const named = (code: string) => expect.stringMatching(`^${code} .*accounts move stuck --to west`)
    expect([found.code, codes(found)]).toEqual([1, [named('move_unfinished')]])
    // A copy keeps nothing from being sent, and stays until somebody goes on.
    await host.pool.query(`update outlay.departed_account set state = 'expecting'`)
    expect(codes(await diagnose())).toEqual([named('move_copy')])
  })

  it('refuses what it cannot do, and says what to give', async () => {
    const without = await outlay(['accounts', 'move', 'acme', '--to', 'west'], { DATABASE_URL: host.database.url })
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('Give --shards')])
    const undirected = await run(bare, 'acme', '--to', 'west')
    expect([undirected.code, undirected.stderr]).toEqual([2, expect.stringContaining('"directory": "$DIRECTORY_URL"')])
    const nowhere = await run(file, 'acme', '--to', 'north')
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('one of east, west')])
    expect((await run(file, 'acme')).code).toBe(2)
    expect((await run(file, 'nobody', '--to', 'west')).code).toBe(1)
  })
})
