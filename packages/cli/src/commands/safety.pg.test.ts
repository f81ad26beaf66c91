import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drain, waitUntil } from '@outlay/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

const nobody = '01J0000000000000000000000Z'

describe('the commands that stop and allow sending', async () => {
  const host = await testHost()
  const { database } = host
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outlay-cli-'))
  })
  afterAll(() => rm(folder, { recursive: true }))
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: database.url })
  const doctor = async () => {
    const { code, stdout } = await run('doctor', '--json')
    return { code, first: JSON.parse(stdout).findings[0] as { code: string; what: string; cure: string } }
  }

  it('stop everything and start it again, and the doctor reports the stop first', async () => {
    await host.engine.start()
    const stopped = await run('stop', '--all', '--reason', 'a drill', '--actor', 'ann')
    expect(stopped.stdout).toContain('outlay start-sending --all')
    expect((await run('stop', '--all')).stdout).toContain('Stopped already')
    const { id } = await host.enqueue()
    const { code, first } = await doctor()
    expect([code, first.code]).toEqual([1, 'sending_stopped'])
    expect(first.what).toContain('by ann: a drill')
    expect(first.cure).toContain('outlay start-sending --all')
    expect((await host.engine.transfers.get(id))?.attempt).toBe(0)
    expect((await run('start-sending', '--all')).stdout).toContain('The stop of everything is ended.')
    expect((await run('start-sending', '--all')).stdout).toContain('nothing changed')
    await drain(host.engine)
    expect(host.gateway.transfers.size).toBeGreaterThan(0)
  })

  it('stop one account or gateway, and nothing else', async () => {
    expect((await run('stop', '--account', 'acme')).stdout).toContain('the account acme')
    expect((await doctor()).first).toMatchObject({ code: 'account_stopped' })
    expect((await run('stop', '--gateway', 'default')).stdout).toContain('the gateway default')
    expect((await run('start-sending', '--account', 'acme')).stdout).toMatch(
      /The stop of the gateway default since \S+ still holds: "outlay start-sending --gateway default" ends it\./,
    )
    await host.pool.query(`insert into outlay.attended_gateway (name) values ('default'), ('bank')`)
    const again = (await run('stop', '--gateway', 'default')).stdout
    expect(again).toContain('Other gateways go on sending: bank. "outlay stop --all" stops them, too.')
    const last = (await run('stop', '--gateway', 'bank', '--json')).stdout
    expect(JSON.parse(last)).toMatchObject({ stopped: true, sending: [] })
    await host.pool.query('truncate outlay.attended_gateway')
    const other = (await run('stop', '--gateway', 'other')).stderr
    expect(other).toContain('No worker has had a gateway "other"; there is "default". Nothing was changed.')
    expect((await run('stop')).stderr).toContain('--all')
    expect((await run('stop', '--all', '--account', 'acme')).code).not.toBe(0)
  })

  it.each([
    ['stop', '--account', 'acme', '--account', 'beta'],
    ['start-sending', '--account', 'acme', '--account=beta'],
    ['accounts', 'limit', 'acme', '--rate', '1', '--rate', 'none'],
    ['archive', '--older-than', '400d', '--older-than', '1m', '--dry-run'],
    ['reconcile', '--since', '2h', '--since', '1m', '--gateway-module', 'gateway.js', '--dry-run'],
    ['status', '--schema', 'other', '--schema', 'outlay'],
  ])('take no option twice of which only the last would count: %s %s %s %s', async (...args) => {
    const { code, stderr } = await run(...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining('is given twice')])
  })

  it.each([
    ['transfers', 'list', '--account', ''],
    ['stop', '--account='],
    ['events', 'tail', '--account', '', '--once'],
  ])('take no option without its value: %s %s %s', async (...args) => {
    const { code, stderr } = await run(...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining('is given without a value')])
    expect(await host.engine.stops.list()).toEqual([])
  })

  it.each([
    ['stop', '--account', '--all'],
    ['stop', '--account', '-h'],
    ['stop', '--all', '--reason', '--actor', 'ann'],
    ['stop', '--account', '--', '--all'],
    ['status', '--schema', '--json'],
    ['subscriptions', 'remove', 'books', '--types', '--discard'],
    ['reconcile', '--since', '2h', '--gateway-module', 'gateway.js', '--account', '--dry-run'],
  ])('take no option for the value of another: %s %s %s', async (...args) => {
    const { code, stderr } = await run(...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining('for its value')])
    expect(await host.engine.stops.list()).toEqual([])
  })

  it('do not make a real reconciliation of a dry run whose actor is missing', async () => {
    const module = join(folder, 'swallowed.mjs')
    await writeFile(module, 'export default () => ({ list: async () => ({ observations: [] }) })')
    await host.engine.start()
    await host.engine.stop()
    expect((await run('fence')).code).toBe(0)
    const args = ['reconcile', '--since', '1h', '--gateway-module', module, '--actor', '--dry-run']
    expect(await run(...args)).toMatchObject({ code: 2, stdout: '' })
    expect((await host.engine.sending()).fence).not.toBeNull()
  })

  it('stop and pause an account that nobody knows yet, and say that it may be mistyped', async () => {
    await host.enqueue()
    for (const command of [
      ['stop', '--account'],
      ['accounts', 'pause'],
    ]) {
      expect((await run(...command, 'acmee')).stdout).toContain('no transfer of acmee is known here')
      expect(JSON.parse((await run(...command, 'acmee', '--json')).stdout)).toMatchObject({ known: false })
      expect((await run(...command, 'acme')).stdout).not.toContain('mistyped')
    }
    expect((await host.engine.stops.list()).map(({ name }) => name)).toEqual(['acme', 'acmee'])
    for (const command of [
      ['start-sending', '--account'],
      ['accounts', 'resume'],
      ['accounts', 'limit'],
    ]) {
      expect((await run(...command, 'acmeee')).stdout).toContain('no transfer of acmeee is known here')
      expect((await run(...command, 'acme')).stdout).not.toContain('mistyped')
      expect(JSON.parse((await run(...command, 'acmeee', '--json')).stdout)).toMatchObject({ known: false })
    }
  })

  const commands = [
    [
      ['stop', '--all'],
      ['start-sending', '--all'],
    ],
    [
      ['stop', '--gateway', 'default'],
      ['start-sending', '--gateway', 'default'],
    ],
    [
      ['stop', '--account', 'acme'],
      ['start-sending', '--account', 'acme'],
    ],
    [
      ['accounts', 'pause', 'acme'],
      ['accounts', 'resume', 'acme'],
    ],
    [['fence'], ['adopt-database', '--moved']],
  ]
  it.each(commands)(
    'name the database, what waits in it and whether workers run, by %j and %j',
    async (stop, start) => {
      const wrong = await outlay(stop, { DATABASE_URL: await database.another() })
      const { hostname, port, pathname } = new URL(database.url)
      expect(wrong.stdout).toMatch(
        new RegExp(`Database: \\S+ on ${hostname}:${port}, schema outlay, deployment not named`),
      )
      expect(wrong.stdout).toContain('It keeps 0 transfers of 0 accounts from being sent.')
      expect(wrong.stdout).toContain('No worker has run here in the last minute: is this the right database?')

      await host.enqueue({ notBefore: new Date(Date.now() + 3_600_000) })
      await host.enqueue({ notBefore: new Date(Date.now() + 3_600_000) })
      await host.engine.start()
      await host.pool.query(`update outlay.known_database set deployment = 'eu', environment = 'testnet'`)
      const names = `Database: ${pathname.slice(1)} on ${hostname}:${port}, schema outlay, deployment eu, environment testnet.`
      for (const args of [stop, start]) {
        const { stdout } = await run(...args)
        // The fence stays up after an adoption.
        const isHeld = args === stop || stop[0] === 'fence'
        expect(stdout).toContain(names)
        expect(stdout).toContain(
          isHeld ? 'It keeps 2 transfers of 1 account from being sent.' : 'To be sent: 2 transfers of 1 account.',
        )
        expect(stdout).toContain('Workers alive: 1 that listen for work; 0 claimed')
      }
      const { place } = JSON.parse((await run(...stop, '--json')).stdout)
      expect(place).toMatchObject({ server: `${hostname}:${port}`, deployment: 'eu', waiting: { transfers: 2 } })
    },
  )

  it('refuse an account that nobody knows where they could only find nothing, and name the one that is alike', async () => {
    await host.enqueue()
    for (const command of [
      ['accounts', 'funds-arrived'],
      ['accounts', 'retry-credentials'],
      ['transfers', 'list', '--account'],
      ['transfers', 'list', '--stuck', '--account'],
      ['transfers', 'show', '--key', 'k', '--account'],
      ['stats', '--account'],
      ['events', 'tail', '--once', '--account'],
    ]) {
      const refused = await run(...command, 'Acmee')
      expect([refused.code, refused.stdout]).toEqual([2, ''])
      expect(refused.stderr).toContain('There is no transfer of an account "Acmee" here.')
      expect(refused.stderr).toContain('Did you mean acme?')
      expect((await run(...command, 'other')).stderr).toContain('the id with which the host enqueues')
      expect((await run(...command, 'acme')).stderr).not.toContain('an account')
    }
  })

  it('do not take an account that is only paused for a mistyped one', async () => {
    await run('accounts', 'pause', 'early', '--actor', 'ann', '--reason', 'a drill')
    const refused = await run('transfers', 'list', '--account', 'early')
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toContain('The account "early" has no transfer here.')
    expect(refused.stderr).not.toContain('Did you mean')
  })

  it('limit an account that nobody knows yet, and say that it may be mistyped', async () => {
    await host.enqueue()
    for (const [account, doubted] of [
      ['acmee', true],
      ['acme', false],
    ] as const) {
      const command = ['accounts', 'limit', account, '--rate', '1']
      expect((await run(...command)).stdout.includes(`no transfer of ${account} is known here`)).toBe(doubted)
      expect(JSON.parse((await run(...command, '--json')).stdout)).toMatchObject({ known: !doubted })
    }
  })

  it.each([
    [['transfers', 'resolve', nobody, '--not-paid', '--gateway-module', 'none.mjs'], '--remote-id'],
    [['transfers', 'resolve', nobody, '--not-paid', '--instead-of', nobody], '--remote-id'],
    [['transfers', 'resolve', nobody, '--not-paid', '--unchecked'], '--remote-id'],
    [['reconcile', '--since', '1h', '--gateway-module', 'none.mjs', '--match', `${nobody}=aXk=`], 'none.mjs'],
    [['reconcile', '--since', '1h', '--gateway-module', 'none.mjs', '--match', `${nobody}`], '<transfer>=<id'],
    [['stop', '--account', 'a b'], 'outlay accounts list'],
    [['accounts', 'pause', ''], 'outlay accounts list'],
    [['events', 'tail', '--once', '--type', 'transfer.paid'], 'transfer.failed'],
    [['events', 'tail', '--once', '--transfer', 'nonsense'], 'transfer: must be a ULID'],
    [['events', 'tail', '--once', '--since', '999999d'], 'Write it as'],
    [['events', 'replay', 'books', '--transfer', 'nonsense'], 'transfer: must be a ULID'],
    [['transfers', 'list', '--before', 'nonsense'], 'before: must be a ULID'],
    [['transfers', 'list', '--stuck', '--stage', 'blocked'], '--stuck goes with'],
  ])('refuse what they would otherwise pass over: %j', async (args, says) => {
    const { code, stderr } = await run(...args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(says)
  })

  it('fence, reconcile with the gateway of a module of the host, and lift the fence', async () => {
    await host.engine.start()
    await host.enqueue()
    await drain(host.engine)
    await host.engine.stop()
    expect((await run('fence', '--actor', 'ann')).stdout).toContain('outlay reconcile')
    expect((await run('fence')).stdout).toContain('fenced already')
    expect((await doctor()).first).toMatchObject({ code: 'fenced' })
    const { id } = await host.enqueue()
    const { request } = (await host.engine.transfers.get(id)) ?? {}
    const transfer = {
      ...{ id: 'remote-9', status: 'processing', failure: null, note: null, amount: request?.amount },
      ...{ source: request?.source, destination: request?.destination },
      ...{ createdAt: new Date().toISOString(), updatedAt: new Date().toISOString() },
    }
    const observation = { remoteId: 'remote-9', status: 'processing', failure: null, transfer }
    const module = join(folder, 'gateway.mjs')
    await writeFile(
      module,
      `export default () => ({
        submit: async () => { throw new Error('sends nothing') },
        get: async (_, remoteId) => ({ remoteId, status: 'complete', failure: null }),
        list: async () => ({ observations: [${JSON.stringify(observation)}] }),
      })`,
    )
    const reconcile = (...args: string[]) => run('reconcile', '--since', '1h', '--gateway-module', module, ...args)
    const planned = await reconcile('--dry-run')
    expect(planned.stdout).toMatch(/acme +\S+ +(- +)?is sent again under its key/)
    expect(planned.stdout).toMatch(/acme +(- +)?remote-9 +is kept until the keys are answered/)
    expect(planned.stdout).toContain('Nothing was changed.')
    expect((await host.engine.transfers.get(id))?.stage).toBe('queued')
    const resent = await reconcile('--actor', 'ann')
    expect([resent.code, resent.stdout]).toEqual([0, expect.stringContaining('The fence is lifted')])
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'queued', reason: 'outcome_unknown' })
    expect((await run('prove', id)).stdout).toContain('the outcome of a request is unknown')
    expect((await run('fence')).code).toBe(0)
    const wrong = await reconcile('--match', `${id}=remote-7`)
    expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining('A person said that it is remote-7')])
    const done = await reconcile('--actor', 'ann', '--match', `${id}=remote-9`)
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('The fence is lifted')])
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-9' })
    const proof = await run('prove', id)
    expect([proof.code, proof.stdout]).toEqual([
      0,
      expect.stringContaining('A reconciliation with the service found it.'),
    ])
    expect((await reconcile()).stderr).toContain('Nothing is fenced')
    expect((await run('reconcile', '--since', '1h', '--gateway-module', join(folder, 'none.mjs'))).stderr).toContain(
      'cannot be loaded',
    )
    for (const since of ['soon', '2026-03-01 12:00', '2026-03-01T12:00', '62'])
      expect((await run('reconcile', '--since', since, '--gateway-module', module)).code, since).toBe(2)
  })

  it('report a copy as one, and adopt it', async () => {
    await host.engine.start()
    await host.engine.stop()
    await host.pool.query('update outlay.known_database set database_oid = database_oid + 1')
    const { code, first } = await doctor()
    expect([code, first.code]).toEqual([1, 'database_unfamiliar'])
    expect(first.cure).toContain('outlay adopt-database')
    const refused = await run('reconcile', '--since', '1h', '--gateway-module', join(folder, 'gateway.mjs'))
    expect(refused.stderr).toContain('outlay adopt-database')
    await host.engine.start()
    const { id } = await host.enqueue()
    expect((await run('adopt-database', '--moved', '--actor', 'ann')).stdout).toContain(
      'workers send from this database',
    )
    await waitUntil(async () => (await host.engine.transfers.get(id))?.stage === 'settled')
    expect((await run('adopt-database', '--deployment', 'eu')).stdout).toContain('Adopted, and fenced')
    expect((await doctor()).first.code).toBe('fenced')
  })

  it('say after an adoption which stops still hold, and how to end them', async () => {
    await host.engine.start()
    await host.engine.stop()
    await run('stop', '--account', 'acme')
    const except = (await run('adopt-database', '--moved')).stdout
    expect(except).toContain('workers send from this database, except for the accounts that are stopped')
    expect(except).toContain('"outlay start-sending --account acme" ends it')
    await run('stop', '--all', '--actor', 'ann', '--reason', 'a drill')
    const stopped = (await run('adopt-database', '--moved')).stdout
    expect(stopped).toContain('nothing is sent yet')
    expect(stopped).not.toContain('workers send')
    expect(stopped).toMatch(
      /The stop of everything since \S+ by ann \(a drill\) still holds: "outlay start-sending --all" ends it/,
    )
    expect((await run('adopt-database')).stdout).toMatch(/Adopted, and fenced.*"outlay start-sending --all" ends it/)
  })
})
