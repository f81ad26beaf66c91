import { randomBytes } from 'node:crypto'
import { Id } from '@outlay/core'
import { drain, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../test/outbox.ts'
import { runOutlay } from './run.ts'

/** For what another database of the server can hold up with one long transaction. */
const patience = { timeoutMs: 150_000 }

describe('the command line', async () => {
  const host = await testHost()
  const { database } = host

  const run = (...args: string[]) => outlay(args, { DATABASE_URL: database.url })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  const reject = () =>
    host.gateway.script(() => ({ outcome: 'rejected', code: 'closed', detail: 'The account is closed.' }))

  async function blockOne(): Promise<string> {
    host.gateway.script(() => ({
      outcome: 'key_mismatch',
      detail: 'another request',
      httpStatus: 422,
      requestId: 'req-7',
    }))
    await host.engine.start()
    const { id } = await host.enqueue({ idempotencyKey: 'INV-1' })
    await waitUntil(async () => (await host.engine.transfers.get(id))?.stage === 'blocked')
    await host.engine.stop()
    host.gateway.script(() => undefined)
    return id
  }

  it('counts transfers by stage', async () => {
    await host.enqueue()
    const { code, stdout } = await run('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/QUEUED +SUBMITTING/)
    expect(await json('status')).toMatchObject({
      backlog: { queued: 1, settled: 0 },
      due: { count: 1 },
      pausedAccounts: [],
    })
  })

  it('finds transfers by their metadata', async () => {
    await host.enqueue({ metadata: { order: '1=2' } })
    const noted = await host.enqueue({ metadata: { order: '1=2', kind: 'refund' } })
    expect(await json('transfers', 'list', '--metadata', 'order=1=2', '--metadata', 'kind=refund')).toMatchObject([
      { id: noted.id, metadata: { order: '1=2', kind: 'refund' } },
    ])
    expect(await json('transfers', 'list', '--metadata', 'order=1=2', '--metadata', 'kind=salary')).toEqual([])
    expect((await run('transfers', 'show', noted.id)).stdout).toContain('order=1=2')
    expect((await run('transfers', 'list', '--metadata', 'order')).stderr).toContain('order=1042')
  })

  it('lists transfers newest first, narrows them, and pages', async () => {
    const first = await host.enqueue()
    const second = await host.enqueue({ accountId: 'other' })
    expect((await json('transfers', 'list')).map((one: { id: string }) => one.id)).toEqual([second.id, first.id])
    expect(
      await json('transfers', 'list', '--account', 'acme', '--stage', 'queued', '--status', 'pending'),
    ).toMatchObject([
      { id: first.id, jobState: 'waiting', amount: '12.50', source: 'USDC base', destination: 'USD ach_credit' },
    ])
    expect(await json('transfers', 'list', '--reason', 'rate_limited')).toEqual([])
    const page = await run('transfers', 'list', '--limit', '1')
    expect(page.stdout).toContain(`--before ${second.id}`)
    expect(await json('transfers', 'list', '--before', second.id)).toMatchObject([{ id: first.id }])
  })

  it('shows what a stuck transfer waits for and what to do', async () => {
    const id = await blockOne()
    const { stdout } = await run('transfers', 'list', '--stuck')
    expect(stdout).toContain(id)
    expect(stdout).toContain('the service has its key for another request')
    const shown = await run('transfers', 'show', '--account', 'acme', '--key', 'INV-1')
    expect(shown.stdout).toContain('blocked (idempotency_key_mismatch)')
    expect(shown.stdout).toContain('req-7')
    expect(shown.stdout).toMatch(/what to do +Find what the key was used for/)
  })

  it('releases a blocked transfer and says what changed, all of them or none', async () => {
    const id = await blockOne()
    const settled = await host.enqueue()
    await host.commit((tx) => host.engine.transfers.cancel(tx, settled.id))
    const refused = await run('transfers', 'release', id, settled.id)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('only a held, blocked or waiting one is released')
    expect((await host.engine.transfers.get(id))?.stage).toBe('blocked')
    const { code, stdout } = await run('transfers', 'release', id)
    expect(code).toBe(0)
    expect(stdout).toContain('blocked/pending (idempotency_key_mismatch) → queued/pending')
  })

  it('cancels what was not sent and refuses what may have been', async () => {
    const { id } = await host.enqueue()
    expect((await run('transfers', 'cancel', id)).stdout).toContain('queued/pending → settled/canceled')
    const again = await run('transfers', 'cancel', id)
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('it is canceled')
    expect(again.stderr).toContain('outlay prove')
    expect((await run('transfers', 'cancel', 'nonsense')).stderr).toContain('ULID')
  })

  it('resubmits a failed transfer as a new one', async () => {
    reject()
    await host.engine.start()
    const { id } = await host.enqueue({ idempotencyKey: 'first' })
    await drain(host.engine)
    const again = await json('transfers', 'resubmit', id, '--key', 'second')
    expect(again).toMatchObject({ idempotencyKey: 'second', reused: false, resubmits: id })
    expect((await run('transfers', 'resubmit', '01J0000000000000000000000Z')).stderr).toContain('outlay transfers list')
  })

  it('pauses and resumes an account', async () => {
    await host.enqueue()
    expect((await run('accounts', 'pause', 'acme')).stdout).toContain('acme is paused')
    expect((await run('accounts', 'pause', 'acme')).stdout).toContain('paused already')
    expect(await json('accounts', 'list', '--paused')).toMatchObject([{ accountId: 'acme', paused: true, queued: 1 }])
    expect(await json('accounts', 'resume', 'acme')).toMatchObject({ accountId: 'acme', paused: false, changed: true })
    expect((await run('accounts', 'list')).stdout).toMatch(/acme +- +1/)
  })

  it('shows and changes the limits of an account', async () => {
    expect((await run('accounts', 'limit', 'acme')).stdout).toMatch(/^acme has: no limits\.\n/)
    const set = await run('accounts', 'limit', 'acme', '--rate', '2.5', '--concurrency', '4', '--weight', '2')
    expect(set.stdout).toContain('acme has from now on: 2.5/s, 4 at once, weight 2.\n')
    expect(await json('accounts', 'limit', 'acme', '--rate', 'none')).toMatchObject({
      accountId: 'acme',
      ratePerSecond: null,
      concurrency: 4,
      weight: 2,
      changed: true,
    })
    expect((await run('accounts', 'list')).stdout).toContain('4 at once, weight 2')
    const refused = await run('accounts', 'limit', 'acme', '--concurrency', '0.5')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('concurrency')
    expect(await run('accounts', 'limit', 'acme', '--rate', 'fast')).toMatchObject({ code: 2 })
    expect(await host.engine.accounts.get('acme')).toMatchObject({ concurrency: 4 })
  })

  it('shows an account that the service has throttled', async () => {
    host.gateway.script(() => ({ outcome: 'throttled', detail: 'busy', httpStatus: 429, retryAfterMs: 600_000 }))
    await host.engine.start()
    await host.enqueue()
    await waitUntil(async () => (await host.engine.accounts.get('acme')).throttledUntil !== null)
    expect((await run('accounts', 'list')).stdout).toMatch(/throttled to 0\.5\/s by the service, paused until 20/)
    await host.enqueue()
    const waiting = await waitUntil(async () => {
      const { stdout } = await run('transfers', 'list', '--stuck')
      return stdout.includes('a permit under the limits of its account') ? stdout : undefined
    })
    expect(waiting).toContain('raise the limits of the account')
  })

  it('sends transfers again when funds have arrived', async () => {
    host.gateway.script(() => ({ outcome: 'insufficient_balance', detail: 'short' }))
    await host.engine.start()
    const { id } = await host.enqueue()
    await waitUntil(async () => (await host.engine.transfers.get(id))?.stage === 'awaiting_funds')
    host.gateway.script(() => undefined)
    expect((await run('accounts', 'funds-arrived', 'acme')).stdout).toContain('1 transfer of acme due again')
    await drain(host.engine)
    expect((await run('accounts', 'funds-arrived', 'acme')).stdout).toContain('no transfer that awaits funds')
    expect((await run('accounts', 'retry-credentials', 'acme')).stdout).toContain('not refused')
  })

  it('lists dead letters and replays them', async () => {
    let broken = true
    const engine = host.again()
    engine.subscribe('books', ['transfer.completed'], async () => {
      if (broken) throw new Error('the books are closed')
    })
    await engine.start()
    await host.enqueue()
    await waitUntil(
      async () => (await host.pool.query('select 1 from outlay.delivery where failures > 0')).rowCount === 1,
    )
    await host.pool.query('update outlay.delivery set dead = true')
    expect((await run('events', 'dead', 'books')).stdout).toContain('the books are closed')
    expect((await run('events', 'dead', 'boks')).stderr).toContain('There are: books.')
    expect((await run('subscriptions', 'list')).stdout).toMatch(/books +0 +0 +1/)
    expect((await run('subscriptions', 'remove', 'nobody')).stderr).toContain('There are: books.')
    const mistyped = await run('subscriptions', 'remove', 'books', '--types', 'transfer.compleeted')
    expect(mistyped.stderr).toContain('It has: transfer.completed.')
    expect(mistyped.code).toBe(1)
    broken = false
    expect(await json('events', 'replay', 'books')).toEqual({ subscription: 'books', replayed: 1, attended: true })
    await drain(engine)
    expect((await run('events', 'replay', 'books')).stdout).toContain('nothing changed')
    expect((await run('events', 'replay', 'nobody')).stderr).toContain('There are: books.')
  })

  it('prints events, each once, and ends when its signal aborts', async () => {
    const { id } = await host.enqueue()
    await host.engine.start()
    await drain(host.engine)
    // A transaction that is open in any database of the server holds the stream up, so a read may be early.
    const lines = await waitUntil(async () => {
      const { stdout } = await run('events', 'tail', '--since', '10m', '--once', '--transfer', id, '--json')
      const printed = stdout.split('\n').filter((line) => line !== '')
      return printed.length >= 2 ? printed : undefined
    }, patience)
    const types = lines.map((line) => JSON.parse(line).type)
    expect(types).toEqual(['transfer.submitted', 'transfer.completed'])
    const abort = new AbortController()
    const tailing = outlay(['events', 'tail', '--account', 'acme'], { DATABASE_URL: database.url }, abort.signal)
    await waitUntil(
      async () =>
        (await host.pool.query(`select 1 from pg_stat_activity where application_name = 'outlay-cli'`)).rowCount,
    )
    abort.abort()
    expect((await tailing).code).toBe(0)
  }, 300_000)

  it.each(['prove', 'transfers show'])('takes no other reference beside the id of a transfer: %s', async (command) => {
    const args = command.split(' ')
    const { id } = await host.enqueue()
    await host.enqueue({ accountId: 'other', idempotencyKey: 'INV-2' })
    const others = [
      ['--account', 'other', '--key', 'INV-2'],
      ['--account', 'other'],
      ['--key', 'INV-2'],
    ]
    for (const beside of others) {
      const { code, stderr } = await run(...args, id, ...beside)
      expect([code, stderr]).toEqual([2, expect.stringContaining('Which transfer is meant?')])
    }
    expect((await run(...args, id)).code).toBe(0)
    expect((await run(...args, '--account', 'other', '--key', 'INV-2')).code).toBe(0)
  })

  it('proves one effect although the first answer was lost', async () => {
    host.gateway.scriptAfter(({ attempt }) => (attempt === 1 ? { outcome: 'unknown', detail: 'reset' } : undefined))
    const engine = host.again()
    engine.subscribe('books', ['transfer.completed'], async () => undefined)
    await engine.start()
    const { id } = await host.enqueue({ idempotencyKey: 'INV-9' })
    await drain(engine)
    const { code, stdout } = await run('prove', id)
    expect(code).toBe(0)
    const sent = /^sent as\s+(\S+)$/m.exec(stdout)?.[1]
    expect(host.gateway.submissions.at(-1)?.idempotencyKey).toBe(sent)
    expect(stdout).toContain(`ONE EFFECT. All 2 attempts carried the key ${sent}, `)
    expect(stdout).toContain('One attempt got no answer, and a later one with the same key did.')
    expect(stdout).toContain('Delivered, and acknowledged in full: books.')
    expect(await json('prove', id)).toMatchObject({
      verdict: { conclusion: 'one_effect' },
      attempts: [{ outcome: 'unknown' }, { outcome: 'accepted' }],
    })
    await host.pool.query('delete from outlay.attempt where attempt = 2')
    const tampered = await run('prove', id)
    expect(tampered.code).toBe(1)
    expect(tampered.stdout).toContain('CONTRADICTION')
  })

  it('archives the history of transfers that ended long ago, and still shows and proves it', async () => {
    await host.engine.start()
    const longAgo = { now: () => new Date(Date.now() - 500 * 24 * 3_600_000) }
    const old = Id.generate(longAgo, { bytes: (length) => randomBytes(length) })
    await host.enqueue({ id: old, idempotencyKey: 'INV-OLD' })
    const { id: recent } = await host.enqueue()
    await drain(host.engine)
    await host.engine.stop()
    await host.pool.query(`update outlay.transfer set updated_at = now() - interval '500 days' where id = $1`, [old])
    const shown = (await run('transfers', 'show', old)).stdout
    expect((await run('archive', '--older-than', '400d', '--dry-run')).stdout).toContain('1 transfer that ended 400d')
    expect(await json('archive', '--older-than', '400d')).toEqual({
      ...{ archived: 1, held: 0, heldBy: [], dryRun: false, stopped: false },
    })
    expect((await run('archive', '--older-than', '400d')).stdout).toContain('0 transfers')
    expect(await json('transfers', 'show', old)).toMatchObject({ archivedAt: expect.any(String), attempts: [{}] })
    for (const line of shown.split('\n').filter((text) => text.includes('transfer.'))) {
      expect((await run('transfers', 'show', '--account', 'acme', '--key', 'INV-OLD')).stdout).toContain(line)
    }
    expect(await json('prove', old)).toMatchObject({ verdict: { conclusion: 'one_effect' } })
    expect(await json('prove', recent)).toMatchObject({ archivedAt: null, verdict: { conclusion: 'one_effect' } })
    expect((await run('archive')).stderr).toContain('--older-than')
    expect((await run('archive', '--older-than', 'long')).code).toBe(2)
  })

  it('migrates an empty database, plans it first, and prints the same as SQL', async () => {
    const url = await database.another()
    const options = ['--database-url', url, '--schema', 'payments']
    const missing = await outlay(['status', ...options])
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(missing.stderr).toContain('outlay migrate')
    const planned = await outlay(['migrate', '--dry-run', ...options, '--json'])
    expect(JSON.parse(planned.stdout).wouldRun).toContain('views/transfers')
    const { stdout } = await outlay(['migrate', ...options])
    expect(stdout).toContain('ran 0001_baseline')
    expect(stdout).toMatch(/^ran \d+ functions and views$/m)
    expect(stdout).not.toContain('functions/')
    expect((await outlay(['migrate', ...options])).stdout).toContain('nothing to do')
    expect((await outlay(['status', ...options])).code).toBe(0)
    const printed = await outlay(['migrate', '--print', '--schema', 'payments'])
    expect(printed.stdout).toContain('create or replace view "payments".stuck_transfers')
  })

  it('prints each migration before it runs to a person who watches, and nothing to a program', async () => {
    const migrate = async (interactive: boolean) => {
      const said: string[] = []
      const args = ['migrate', '--database-url', await database.another(), '--schema', 'payments']
      const stderr = (text: string) => said.push(text)
      await runOutlay(args, { env: {}, stdout: () => {}, stderr, signal: new AbortController().signal, interactive })
      return said
    }
    const progress = await migrate(true)
    expect(progress[0]).toBe('Running the queue in "payments_queue" …\n')
    expect(progress.indexOf('Running 0001_baseline …\n')).toBeGreaterThan(0)
    expect(progress.indexOf('Running views/transfers …\n')).toBeGreaterThan(
      progress.indexOf('Running 0001_baseline …\n'),
    )
    expect(await migrate(false)).toEqual([])
  })

  it('prints the roles as SQL, under names that it is given', async () => {
    const printed = await outlay(['roles', '--print', '--schema', 'payments', '--worker', 'payout-worker'])
    expect(printed.code).toBe(0)
    expect(printed.stdout).toContain('on all tables in schema "payments", "payments_queue" to "payout-worker"')
    expect(printed.stdout).toContain('to "outlay_reader"')
    const refused = await outlay(['roles', '--print', '--reader', 'no; name'])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('A role name is')
  })

  it('makes the roles in the database', async () => {
    const suffix = randomBytes(6).toString('hex')
    const names = ['enqueue', 'worker', 'migrator', 'reader'].map((part) => [part, `${part}-${suffix}`] as const)
    const options = names.flatMap(([part, name]) => [`--${part}`, name])
    const url = await database.another()
    expect((await outlay(['roles', '--database-url', url, ...options])).stdout).toContain('Run it again')
    await outlay(['migrate', '--database-url', url])
    const { code, stdout } = await outlay(['roles', '--database-url', url, '--json', ...options])
    expect([code, JSON.parse(stdout)]).toEqual([0, Object.fromEntries(names)])
    const admin = new pg.Client(url)
    await admin.connect()
    const { rows } = await admin.query(
      `select has_table_privilege($1, 'outlay.transfer', 'insert') as enqueues,
      has_table_privilege($1, 'outlay.transfer', 'update') as updates`,
      [`enqueue-${suffix}`],
    )
    expect(rows).toEqual([{ enqueues: true, updates: false }])
    const asEnqueuer = `${url}?${new URLSearchParams({ options: `-c role=enqueue-${suffix}` })}`
    for (const args of [['transfers', 'list'], ['status'], ['doctor']]) {
      const { stderr } = await outlay([...args, '--database-url', asEnqueuer])
      expect(stderr).toContain('The user may not do this. (permission denied for table')
      expect(stderr).toContain('the reader to read, the worker to change something')
    }
    await admin.query(`reassign owned by "migrator-${suffix}" to current_user`)
    for (const [, name] of names) await admin.query(`drop owned by "${name}"; drop role "${name}"`)
    await admin.end()
  })
})
