import { recordingLogger } from '@outlay/testing'
import { expect, it, onTestFinished, vi } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inClientTransaction } from '../context.ts'
import { withinShare } from './pool-share.ts'
import { beginAs } from './tenant.ts'

const { open, pool: beside } = await serviceDatabase()
const pools = { four: open(4), two: open(2), locking: open(1) }

const body = { name: 'Payee', address: '0x52908400098527886E0F7030069857D2E4169EE7', transfer_types: ['base'] }

it('writes of one client that wait for a lock leave half of the connections to others', async () => {
  const { four: pool, locking } = pools
  const logger = recordingLogger()
  const service = testService(testContext({ pool, logger, rateLimit: { perSecond: 100_000, burst: 100_000 } }))
  const [a, b] = [await service.signIn({ environment: 'mainnet' }), await service.signIn({ environment: 'mainnet' })]
  const accounts = [await service.createAccount(a.token), await service.createAccount(b.token)]
  const create = (of: { readonly token: string }, account: string | undefined, key: string = crypto.randomUUID()) =>
    service.call(`/accounts/${account}/addresses/external`, { token: of.token, key, body })
  // A key of the first client that somebody else holds: each of its creates waits for the lock.
  const holder = await locking.connect()
  onTestFinished(() => holder.release())
  await holder.query(beginAs('system'))
  const keys = Array.from({ length: 20 }, (_, at) => `held-${at}`)
  await holder.query(
    `insert into ${testSchema}.idempotency_key (client_id, idempotency_key, fingerprint, created_at)
     select $1, key, '', now() from unnest($2::text[]) key`,
    [a.clientId, keys],
  )
  const waiting = keys.map((key) => create(a, accounts[0], key))
  const locked = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  await vi.waitFor(async () => expect((await inspect(beside).query(locked)).rowCount).toBe(2), { timeout: 60_000 })
  // All of this is done while the creates of the first client wait.
  expect((await create(b, accounts[1])).status).toBe(201)
  expect((await service.call(`/accounts/${accounts[1]}`, { token: b.token })).status).toBe(200)
  await holder.query('rollback')
  const answers = await Promise.all(waiting)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
  expect(logger.entries.filter(({ level }) => level !== 'info')).toEqual([])
})

it('a client that gets no place of its share is answered with 503, which the log has once as a warning', async () => {
  const { two: pool } = pools
  const logger = recordingLogger()
  const context = testContext({ pool, logger })
  const service = testService(context)
  const impatient = testService(testContext({ pool, logger, secrets: context.secrets, readTimeoutMs: 50 }))
  const { token, clientId } = await service.signIn({ environment: 'mainnet' })
  const account = await service.createAccount(token)
  // Nobody's place but that of the client: its only one.
  const end = Promise.withResolvers<void>()
  const held = withinShare({ pool }, clientId, { limitMs: 60_000 }, () => end.promise)
  const read = (of = impatient) => of.call(`/accounts/${account}`, { token })
  const answers = [await read(), await read()]
  expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
    [503, '1'],
    [503, '1'],
  ])
  const said = logger.entries.filter(({ level }) => level === 'warn' || level === 'error')
  expect(said).toMatchObject([{ level: 'warn', fields: { clientId } }])
  end.resolve()
  await held
  expect((await read(service)).status).toBe(200)
})

it('a read whose client has gone leaves the share, and a create whose client has gone is done', async () => {
  const { two: pool } = pools
  const logger = recordingLogger()
  const service = testService(testContext({ pool, logger }))
  const { token, clientId } = await service.signIn({ environment: 'mainnet' })
  const account = await service.createAccount(token)
  const end = Promise.withResolvers<void>()
  const held = withinShare({ pool }, clientId, { limitMs: 60_000 }, () => end.promise)
  const gone = new AbortController()
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
  }
  const send = (path: string, init: RequestInit) =>
    service.fetch(new Request(`http://test/accounts/${account}${path}`, { ...init, headers, signal: gone.signal }))
  const read = send('', {})
  const created = send('/addresses/external', { method: 'POST', body: JSON.stringify(body) })
  await new Promise(setImmediate)
  gone.abort()
  // While the share is taken.
  const { status, headers: answered } = await read
  expect([status, answered.get('retry-after')]).toEqual([503, null])
  end.resolve()
  await held
  expect((await created).status).toBe(201)
  expect(logger.entries.filter(({ level }) => level !== 'info')).toEqual([])
})

it('a write waits for a lock as long as for the share of its client, unless it says otherwise', async () => {
  const { two: pool } = pools
  const limitOf = (lockTimeoutMs?: number) =>
    inClientTransaction(
      { pool },
      'client',
      async (tx) => (await tx.query(`select current_setting('lock_timeout') as lock`)).rows[0]?.lock,
      lockTimeoutMs,
    )
  expect([await limitOf(), await limitOf(50)]).toEqual(['10s', '50ms'])
})
