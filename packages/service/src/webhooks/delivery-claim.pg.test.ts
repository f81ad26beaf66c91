import { Pool } from 'pg'
import { beforeEach, expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema } from '../../test/service.ts'
import { asSystem } from '../database/tenant.ts'
import { claimDeliveries, type DeliveryClaim, turnSize } from './delivery-claim.ts'

const database = await serviceDatabase()
// One session, so that the plans of the first claims are those of the last, and its counts are complete.
const pool = database.open(1)

const context = testContext({ pool })
const now = new Date('2026-01-02T00:00:00Z')
const leaseUntil = new Date('2026-01-02T00:10:00Z')
const query = inspect(pool).query
const everything: DeliveryClaim = {
  now,
  leaseUntil,
  limit: 32,
  probeUntil: leaseUntil,
  heldSince: new Date(0),
  exceptRegistrations: [],
  exceptEndpoints: [],
  exceptClients: [],
  after: '',
}
const claim = (options: Partial<DeliveryClaim> = {}) =>
  claimDeliveries(asSystem(context), context, { ...everything, ...options })

const event = 'event'
beforeEach(async () => {
  await query(`truncate ${testSchema}.webhook_event, ${testSchema}.client, ${testSchema}.account cascade`)
  await query(`insert into ${testSchema}.webhook_event (id, account_id, type, body, created_at)
    values ('${event}', 'any', 'transfer.created', '{}', now())`)
})

/** Makes a client, `accounts` accounts of it and a registration for each: `<client>-00001` and so on. */
async function seed(client: string, accounts = 1) {
  const numbers = `generate_series(1, ${accounts}) n`
  const id = `'${client}-' || lpad(n::text, 5, '0')`
  await query(`insert into ${testSchema}.client values ('${client}', 'n', 'testnet', '{}', now())`)
  await query(`insert into ${testSchema}.account (id, environment, status, business_name, ein, address, phone_number, email,
      website, ultimate_beneficial_owners, created_at, updated_at)
    select ${id}, 'testnet', 'complete', '', '', '{}', '', '', '', '[]', now(), now() from ${numbers}`)
  await query(`insert into ${testSchema}.client_account (client_id, account_id, created_at)
    select '${client}', ${id}, now() from ${numbers}`)
  await query(`insert into ${testSchema}.webhook_registration
      (id, account_id, url, event_types, status, secret, created_at, updated_at)
    select ${id}, ${id}, 'https://acme.example/' || ${id}, '{*}', 'active', 'sealed', now(), now() from ${numbers}`)
}

/** Makes `count` deliveries to each registration whose id is like `pattern`. */
async function enqueue(pattern: string, count: number, dueAt = '-infinity') {
  await query(
    `insert into ${testSchema}.webhook_delivery (registration_id, event_id, account_id, next_attempt_at, created_at)
     select r.id, '${event}', r.account_id, $2::timestamptz, now()
       from generate_series(1, $3) n cross join ${testSchema}.webhook_registration r where r.id like $1`,
    [pattern, dueAt, count],
  )
  await query(`analyze ${testSchema}.webhook_delivery`)
}

/** Rows that `work` read from the tables of a claim and from their indexes. */
async function readBy(work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ readonly rows: number }>(
      `select sum(t.seq_tup_read + i.read)::integer as rows from pg_stat_user_tables t
        cross join lateral (select sum(idx_tup_read) as read from pg_stat_user_indexes i where i.relid = t.relid) i
        where t.schemaname = '${testSchema}'
          and t.relname in ('webhook_delivery', 'webhook_registration', 'client_account')`,
    )
    return rows[0]?.rows ?? 0
  }
  const before = await read()
  await work()
  return (await read()) - before
}

const registrationsOf = ({ deliveries }: Awaited<ReturnType<typeof claim>>) =>
  deliveries.map(({ registrationId }) => registrationId)

/** A claim of one delivery reads this many rows at most, however many are due. */
const fewRows = 5_000

it.each([
  ['a registration', { exceptRegistrations: ['busy-00001'] }],
  ['an endpoint', { exceptEndpoints: ['busy https://acme.example/busy-00001'] }],
])('reads no backlog of %s at its limit', async (_, busy) => {
  // The plans are made while the tables are empty.
  for (let round = 0; round < 8; round += 1) await claim({ exceptRegistrations: ['none'] })
  await seed('busy', 2)
  await enqueue('busy-00001', 40_000)
  await enqueue('busy-00002', 1)
  const read = await readBy(async () => expect(registrationsOf(await claim(busy))).toEqual(['busy-00002']))
  expect(read).toBeLessThan(fewRows)
  const readAgain = await readBy(async () => expect(await claim(busy)).toEqual({ deliveries: [], taken: 0, after: '' }))
  expect(readAgain).toBeLessThan(fewRows)
})

it('reads no backlog of a client at its limit, however many accounts it has', async () => {
  await seed('busy', 3_000)
  await seed('other')
  await enqueue('busy-%', 10)
  await enqueue('other-%', 1)
  let after = ''
  const claimed: string[] = []
  do {
    const read = await readBy(async () => {
      const next = await claim({ exceptClients: ['busy'], after })
      claimed.push(...registrationsOf(next))
      after = next.after
    })
    expect(read).toBeLessThan(fewRows)
  } while (after !== '')
  expect(claimed).toEqual(['other-00001'])
})

it('reads few of many retries that are due later', async () => {
  await seed('busy')
  await seed('later', 3 * turnSize)
  await seed('other')
  await enqueue('busy-%', 10_000, '2026-01-01')
  await enqueue('later-%', 5, '2026-01-03')
  await enqueue('other-%', 1, '2026-01-01')
  const read = await readBy(async () => {
    const { deliveries, after } = await claim({ exceptEndpoints: ['busy https://acme.example/busy-00001'] })
    expect([deliveries, after]).toEqual([[], `later-00${turnSize - 1}`])
  })
  expect(read).toBeLessThan(fewRows)
})

it('claims what waits longest among free owners, before and behind a backlog', async () => {
  await seed('busy')
  await seed('other', 40)
  await enqueue('other-00007', 2)
  await enqueue('busy-%', 20_000)
  for (let number = 40; number > 0; number -= 1)
    await enqueue(`other-${String(number).padStart(5, '0')}`, 2, `2026-01-01 00:${59 - number}:00`)
  const expected = Array.from({ length: 15 }, (_, index) => `other-${String(40 - index).padStart(5, '0')}`)
  const { deliveries } = await claim({ exceptClients: ['busy'] })
  const registrations = deliveries.map(({ registrationId }) => registrationId)
  expect(registrations.slice(0, 2)).toEqual(['other-00007', 'other-00007'])
  expect(new Set(registrations.slice(2))).toEqual(new Set(expected))
  expect(deliveries).toHaveLength(32)
})

it('claims in the order of the whole queue while nobody is at a limit', async () => {
  await seed('busy', 2)
  await enqueue('busy-00002', 20, '2026-01-01')
  await enqueue('busy-00001', 40_000)
  const read = await readBy(async () => {
    expect(new Set(registrationsOf(await claim()))).toEqual(new Set(['busy-00001']))
  })
  expect(read).toBeLessThan(500)
})

it('claims each delivery once in two processes, behind a backlog too', async () => {
  const other = new Pool({ connectionString: database.url, max: 1 })
  const otherContext = testContext({ pool: other })
  await seed('busy')
  await seed('other', 4)
  await enqueue('busy-%', 5_000)
  await enqueue('other-%', 50)
  const claimed: string[] = []
  for (let before = -1; before < claimed.length; ) {
    before = claimed.length
    const options = { ...everything, exceptClients: ['busy'] }
    const both = await Promise.all([
      claimDeliveries(asSystem(context), context, options),
      claimDeliveries(asSystem(otherContext), otherContext, options),
    ])
    claimed.push(...both.flatMap(({ deliveries }) => deliveries.map(({ id }) => id)))
  }
  await other.end()
  expect([claimed.length, new Set(claimed).size]).toEqual([200, 200])
})
