import { manualClock, recordingLogger } from '@outlay/testing'
import { expect, it, vi } from 'vitest'
import { serviceDatabase } from '../test/database.ts'
import { inspect } from '../test/inspection.ts'
import { sampleAccount, testContext, testSchema, testService } from '../test/service.ts'
import { inTransaction } from './context.ts'
import { migrateService } from './database/migrations.ts'
import { keepHouse, migrateHousekeeping, startHousekeeping } from './housekeeping.ts'
import { pruneSize } from './webhooks/delivery-store.ts'
import { recordEvent } from './webhooks/events.ts'

const { pool } = await serviceDatabase()

const clock = manualClock()
const logger = recordingLogger()
const context = testContext({ pool, clock, logger, allowPrivateWebhooks: true })
const service = testService(context)
const count = async (table: string) =>
  Number((await inspect(pool).query(`select count(*) from ${testSchema}.${table}`)).rows[0].count)

it('deletes expired keys, tokens and events, and no event with a pending delivery', async () => {
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  await service.call(`/accounts/${accountId}/webhooks`, {
    method: 'POST',
    token,
    key: 'w',
    body: { url: 'http://127.0.0.1:1/' },
  })
  const record = () =>
    inTransaction(context, (tx) => recordEvent(tx, context, { accountId, type: 'transfer.created', data: {} }))
  await record()
  await inspect(pool).query(`update ${testSchema}.webhook_delivery set status = 'delivered'`)
  await record()
  await keepHouse(context)
  expect([await count('access_token'), await count('idempotency_key'), await count('webhook_event')]).toEqual([1, 2, 2])
  clock.advance(31 * 24 * 3_600_000)
  await service.signIn()
  await keepHouse(context)
  expect([await count('access_token'), await count('idempotency_key'), await count('webhook_event')]).toEqual([1, 0, 1])
})

it('deletes many events in small transactions, each once', async () => {
  const { query } = inspect(pool)
  const deleted = async () =>
    (await query(`select count(distinct at)::integer as transactions, count(*)::integer as rows from deleted_event`))
      .rows[0]
  await query(`create table deleted_event (at bigint)`)
  await query(`create function note_deletion() returns trigger language plpgsql as $$
    begin insert into deleted_event values (txid_current()); return old; end $$`)
  await query(`create trigger note_deletion after delete on ${testSchema}.webhook_event
    for each row execute function note_deletion()`)
  await query(
    `insert into ${testSchema}.webhook_event (id, account_id, type, body, created_at)
     select 'old-' || n, 'any', 'transfer.created', '{}', $2 from generate_series(1, $1) n`,
    [2 * pruneSize + 1, new Date(0)],
  )
  await keepHouse(context)
  expect(await deleted()).toEqual({ transactions: 3, rows: 2 * pruneSize + 1 })
})

it.each([
  [
    'keys',
    'idempotency_key',
    `insert into ${testSchema}.idempotency_key
       (client_id, idempotency_key, fingerprint, created_at, response_status, response_body)
     select c.id, kind || n, 'f', case kind when 'old' then $1::timestamptz else $2 end, 201, repeat('x', 1000)
       from (select id from ${testSchema}.client limit 1) c, generate_series(1, 1500) n, unnest(array['old', 'new']) kind`,
  ],
  [
    'unused quotes',
    'quote',
    `insert into ${testSchema}.quote
       (id, account_id, source_value_type, source_value, destination_value_type, destination_value, rate, fixed_side, reference,
        transfer_id, created_at, expires_at)
     select kind || n, 'a', 'USDC', 1, 'MXN', 18.5, 18.5, 'source', 'r', null, at, at
       from generate_series(1, 1500) n, unnest(array['old', 'new']) kind,
            lateral (select case kind when 'old' then $1::timestamptz else $2 end as at) t`,
  ],
  [
    'tokens',
    'access_token',
    `insert into ${testSchema}.access_token (digest, client_id, scopes, expires_at, created_at)
     select sha256((kind || n)::bytea), c.id, '{}', case kind when 'old' then $1::timestamptz else $2::timestamptz + interval '1 day' end, $1
       from (select id from ${testSchema}.client limit 1) c, generate_series(1, 1500) n, unnest(array['old', 'new']) kind`,
  ],
  [
    'exchanges of public tokens',
    'bank_link_exchange',
    `insert into ${testSchema}.bank_link_exchange (account_id, public_token_digest, leased_until, created_at)
     select a.id, kind || n, at, at
       from (select id from ${testSchema}.account limit 1) a, generate_series(1, 1500) n, unnest(array['old', 'new']) kind,
            lateral (select case kind when 'old' then $1::timestamptz else $2 end as at) t`,
  ],
])('deletes many %s in several transactions, and none that is recent', async (_, table, insert) => {
  const { query } = inspect(pool)
  await query(`delete from ${testSchema}.${table}`)
  await query(`create table deleted_${table} (at bigint)`)
  await query(`create function note_${table}() returns trigger language plpgsql as $$
    begin insert into deleted_${table} values (txid_current()); return old; end $$`)
  await query(
    `create trigger note after delete on ${testSchema}.${table} for each row execute function note_${table}()`,
  )
  await query(insert, [new Date(0), clock.now()])
  await keepHouse(context)
  const { rows } = await query(`select count(*)::integer as rows from deleted_${table} group by at order by rows desc`)
  expect(rows.reduce((sum: number, each: { rows: number }) => sum + each.rows, 0)).toBe(1_500)
  expect(rows[0].rows).toBeLessThanOrEqual(1_100)
  expect(await count(table)).toBe(1_500)
  await query(`drop trigger note on ${testSchema}.${table}`)
  await query(`delete from ${testSchema}.${table}`)
})

it('keeps what was created: only its key is forgotten', async () => {
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token, { business_name: sampleAccount.business_name })
  clock.advance(31 * 24 * 3_600_000)
  await keepHouse(context)
  expect(await count(`account where id = '${accountId}'`)).toBe(1)
})

it('deletes the results of expired public tokens, and no exchange in progress', async () => {
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  const now = clock.now().getTime()
  const days = (count: number) => new Date(now + count * 24 * 3_600_000)
  const insert = `insert into ${testSchema}.bank_link_exchange
    (account_id, public_token_digest, leased_until, item_id, access_token, address_ids, created_at)
    values ($1, $2, $3, $4, $5, $6, $7)`
  await inspect(pool).query(insert, [accountId, 'registered', days(-31), 'item-1', null, ['fi'], days(-31)])
  await inspect(pool).query(insert, [accountId, 'given-up', days(-31), 'item-2', 'sealed', null, days(-31)])
  await inspect(pool).query(insert, [accountId, 'under-way', days(0), null, null, null, days(-31)])
  await inspect(pool).query(insert, [accountId, 'recent', days(-29), 'item-3', null, ['fi'], days(-29)])
  await keepHouse(context)
  const { rows } = await inspect(pool).query(
    `select public_token_digest from ${testSchema}.bank_link_exchange order by 1`,
  )
  expect(rows.map((row) => row.public_token_digest)).toEqual(['recent', 'under-way'])
  await keepHouse(context, { bankLinkExchangeDays: 20 })
  expect(await count('bank_link_exchange')).toBe(1)
})

it('deletes unused quotes some time after they have expired, and none that was used', async () => {
  const days = (number: number) => new Date(clock.now().getTime() + number * 24 * 3_600_000)
  const insert = `insert into ${testSchema}.quote
    (id, account_id, source_value_type, source_value, destination_value_type, destination_value, rate, fixed_side, reference,
     transfer_id, created_at, expires_at)
    values ($1, 'a', 'USDC', 1, 'MXN', 18.5, 18.5, 'source', 'r', $2, $3, $3)`
  await inspect(pool).query(insert, ['old', null, days(-31)])
  await inspect(pool).query(insert, ['used', 'transfer', days(-31)])
  await inspect(pool).query(insert, ['recent', null, days(-29)])
  const ids = async () =>
    (await inspect(pool).query(`select id from ${testSchema}.quote order by id`)).rows.map(({ id }) => id)
  await keepHouse(context)
  expect(await ids()).toEqual(['recent', 'used'])
  await keepHouse(context, { unusedQuoteDays: 20 })
  expect(await ids()).toEqual(['used'])
})

it('deletes nothing for a clock of its machine that is ahead of the server', async () => {
  const real = testContext({ pool, clock: { now: () => new Date() } })
  const insert = `insert into ${testSchema}.quote
    (id, account_id, source_value_type, source_value, destination_value_type, destination_value, rate, fixed_side, reference,
     created_at, expires_at)
    values ($1, 'a', 'USDC', 1, 'MXN', 18.5, 18.5, 'source', 'r', clock_timestamp(), clock_timestamp() - $2 * interval '1 day')`
  await inspect(pool).query(insert, ['over', 31])
  await inspect(pool).query(insert, ['just over', 1])
  const ids = async () =>
    (await inspect(pool).query(`select id from ${testSchema}.quote where id like '%over'`)).rows.map(({ id }) => id)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 30 * 24 * 3_600_000 })
  try {
    await keepHouse(real)
  } finally {
    vi.useRealTimers()
  }
  expect(await ids()).toEqual(['just over'])
})

it('migrates its queue from several processes at once', async () => {
  const empty = testContext({ pool, schema: 'raced_service' })
  await Promise.all(Array.from({ length: 6 }, () => migrateHousekeeping(empty)))
  const housekeeping = await startHousekeeping(empty)
  await housekeeping.stop()
})

it('schedules itself in its own queue and stops', async () => {
  await expect(startHousekeeping(context)).rejects.toThrow()
  await migrateHousekeeping(context)
  const housekeeping = await startHousekeeping(context)
  const { rows } = await pool.query(`select name, cron from ${testSchema}_jobs.schedule`)
  expect(rows).toEqual([{ name: 'housekeeping', cron: '17 * * * *' }])
  await housekeeping.stop()
  expect(logger.entries.filter((entry) => entry.level !== 'info')).toEqual([])
})

it('migrates twice and from two processes at once without a change', async () => {
  const schema = 'another_service'
  const [first, second] = await Promise.all([migrateService({ pool, schema }), migrateService({ pool, schema })])
  expect([first, second].filter((ran) => ran.length > 0)).toHaveLength(1)
  expect(await migrateService({ pool, schema })).toEqual([])
  await expect(migrateService({ pool, schema: 'No; drop' })).rejects.toThrow('schema name')
})
