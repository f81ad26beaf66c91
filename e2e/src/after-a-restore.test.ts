import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPostgres, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Host, migrateHost } from './host.ts'
import { openStageHost, type Stage, seedClient, setStage, settleAll, startService } from './stage.ts'

const run = promisify(execFile)

/** A payout of this amount. Each payout of this story has a different amount. */
const usdc = (value: string) => ({ amount: { value, currency: 'USDC' } })

describe('after a restore to a point in time', async () => {
  const services = await testDatabase({ role: 'ordinary' })
  const sandbox = await startService(services.url)
  afterAll(() => sandbox.stop())
  let root: string
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'outlay-restore-'))
    await chmod(root, 0o755)
  })
  afterAll(() => rm(root, { recursive: true, force: true }))
  const start = (name: string, settings = {}) =>
    startPostgres({ provider: 'embedded', dataDir: join(root, name), durable: false, settings })
  /** Copies the files of a stopped server, as a backup of its disk. */
  const copy = (from: string, to: string) => run('cp', ['-a', join(root, from), join(root, to)])

  /** Turns the files of a server into a restore: it recovers from them on a new timeline. */
  async function restore(name: string) {
    const signal = join(root, name, 'recovery.signal')
    await writeFile(signal, '')
    await run('chown', ['--reference', join(root, name), signal])
    const server = await start(name, { restore_command: 'false' })
    const pool = new pg.Pool({ connectionString: server.url })
    await waitUntil(async () => (await pool.query('select pg_is_in_recovery() as r')).rows[0]?.r === false)
    await pool.end()
    return server
  }

  function open(stage: Stage, url: string): Host {
    const host = openStageHost(stage, url, sandbox.url)
    // A stopping server ends connections that are about to be closed.
    host.pool.on('error', () => {})
    return host
  }

  const enqueue = (host: Host, stage: Stage, value: string, more = {}) =>
    host.transaction((tx) => host.engine.transfers.enqueue(tx, stage.payout({ ...usdc(value), ...more })))

  /** The story up to the backup: one payout is made, four wait. Returns the ids of those that wait. */
  async function backUp(stage: Stage) {
    const server = await start('live')
    const url = await server.createDatabase('app')
    await migrateHost(url)
    const host = open(stage, url)
    await host.engine.start()
    await enqueue(host, stage, '10')
    await settleAll(stage, host)
    await host.engine.stop()
    const sent = await enqueue(host, stage, '11')
    const twins = [await enqueue(host, stage, '12'), await enqueue(host, stage, '12')]
    const scheduled = await enqueue(host, stage, '13', { notBefore: new Date(Date.now() + 3_600_000 * 24) })
    const unsent = await enqueue(host, stage, '15')
    await host.transaction((tx) => host.engine.stops.add(tx, { scope: 'all' }))
    await host.close()
    await server.stop()
    await copy('live', 'backup')
    return { sent: sent.id, twins: twins.map(({ id }) => id), scheduled: scheduled.id, unsent: unsent.id }
  }

  /** What happens after the backup and is lost with the server: three that waited are paid, and one that is new. */
  async function goOn(stage: Stage, unsent: string) {
    const server = await start('live')
    const host = open(stage, server.url.replace(/postgres$/, 'app'))
    await host.transaction((tx) => host.engine.transfers.cancel(tx, unsent))
    await host.transaction((tx) => host.engine.stops.end(tx, { scope: 'all' }))
    await host.engine.start()
    await enqueue(host, stage, '14', { idempotencyKey: 'INV-14' })
    await waitUntil(async () => (await amounts(stage)).length === 5)
    await waitUntil(async () => (await host.engine.backlog()).submitting === 0)
    await host.close()
    await server.stop()
  }

  async function amounts({ client, accountId }: Stage): Promise<readonly string[]> {
    const found: string[] = []
    for await (const { amount } of client.transfers.iterate(accountId)) found.push(amount.value)
    return found.toSorted()
  }
  const idsOf = async ({ client, accountId }: Stage, value: string) => {
    const found: string[] = []
    for await (const { id, amount } of client.transfers.iterate(accountId)) if (amount.value === value) found.push(id)
    return found
  }

  it('nothing leaves before a reconciliation, and each payout is made once', async () => {
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    const since = new Date(Date.now() - 60_000)
    const ids = await backUp(stage)
    await goOn(stage, ids.unsent)
    const paid = ['10', '11', '12', '12', '14']
    expect(await amounts(stage)).toEqual(paid)

    const server = await restore('backup')
    const host = open(stage, server.url.replace(/postgres$/, 'app'))
    const { engine } = host
    await host.transaction((tx) => engine.stops.end(tx, { scope: 'all' }))
    await engine.start()
    expect(await engine.sending()).toMatchObject({ unfamiliar: null, fence: { reason: 'restored' } })

    const planned = await engine.reconcile({ since, dryRun: true })
    expect(planned).toMatchObject({ read: 5, lifted: false, dryRun: true })
    const kinds = planned.differences.map(({ kind }) => kind).toSorted()
    const resent = ['resent', 'resent', 'resent', 'undecided', 'undecided', 'undecided']
    expect(kinds).toEqual(['adopted', ...resent])
    expect(await engine.transfers.get(ids.sent)).toMatchObject({ stage: 'queued', remoteId: null })

    // The host finds a lost record of its own and makes it again with its own key, while nothing is sent.
    const repeated = await enqueue(host, stage, '14', { idempotencyKey: 'INV-14' })
    // One of the twins is late by now: only a person can say whether it is still wanted.
    const [late = '', other = ''] = ids.twins
    await host.pool.query('update outlay.transfer set expires_at = now() where id = $1', [late])
    const first = await engine.reconcile({ since, actor: 'ann' })
    expect(first.lifted).toBe(false)
    expect(await engine.transfers.get(late)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    const again = await engine.reconcile({ since, actor: 'ann' })
    expect(again.differences.map(({ kind, open }) => `${kind} ${open}`).toSorted()).toEqual([
      ...['blocked true', 'resent false', 'resent false', 'resent false'],
      ...['undecided false', 'undecided false', 'undecided false', 'undecided false'],
    ])
    expect(await amounts(stage)).toEqual(paid)
    expect(await engine.transfers.get(ids.sent)).toMatchObject({ stage: 'queued', remoteId: null })

    const decided = await engine.reconcile({ since, acknowledge: true })
    expect(decided).toMatchObject({ lifted: true })
    await host.transaction((tx) => engine.transfers.release(tx, late))
    // Each gets what its own key has made, the twins too.
    for (const id of [ids.sent, late, other]) {
      await waitUntil(async () => (await engine.transfers.get(id))?.remoteId !== null)
    }
    expect((await engine.transfers.get(ids.sent))?.remoteId).toBe((await idsOf(stage, '11'))[0])
    const twins = await Promise.all(ids.twins.map(async (id) => (await engine.transfers.get(id))?.remoteId))
    expect(twins.toSorted()).toEqual((await idsOf(stage, '12')).toSorted())
    // A transfer that was canceled after the backup is as before: the cancel is lost, like the host's own rows.
    await waitUntil(async () => (await amounts(stage)).includes('15'))
    await waitUntil(async () => (await engine.transfers.get(repeated.id))?.remoteId !== null)
    expect(await amounts(stage)).toEqual([...paid, '15'])
    expect((await engine.transfers.get(repeated.id))?.remoteId).toBe((await idsOf(stage, '14'))[0])
    expect(await engine.transfers.get(ids.scheduled)).toMatchObject({ stage: 'queued', attempt: 0 })
    await waitUntil(async () => {
      await stage.advance(60)
      return (await engine.backlog()).submitted === 0
    })
    const doubled = await host.pool.query(
      'select 1 from outlay.transfer where remote_id is not null group by account_id, remote_id having count(*) > 1',
    )
    expect(doubled.rows).toEqual([])
    for (const id of [ids.sent, ...ids.twins])
      expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete' })
    await host.close()
    await server.stop()
  })
})
