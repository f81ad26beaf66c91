import { createEngine } from '@outlay/core'
import { memoryGateway, startPostgres } from '@outlay/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { inspect } from '../inspection/inspection.ts'
import { createCredentialStore } from '../limits/credentials.ts'
import { createThrottleStore } from '../limits/throttles.ts'
import { createPollStore } from '../polling/polls.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createGatewayStore } from './gateways.ts'

// A server of its own without autovacuum, as for the other plans.
const server = await startPostgres({ provider: 'embedded', durable: false, settings: { autovacuum: 'off' } })
const url = await server.createDatabase()
await migrateOutbox(url)
// One session, so that the plans are those that were made while the tables were empty.
const pool = new pg.Pool({ connectionString: url, max: 1 })
afterAll(async () => {
  await pool.end()
  await server.stop()
})

const driver = pgDriver(pool)
const gateways = { default: memoryGateway(), bank: memoryGateway() }
const engine = createEngine({ backend: postgres({ driver }), gateways, route: () => 'bank' })
const { tokens } = resolveNames({})
const credentials = createCredentialStore(driver, tokens)
const throttles = createThrottleStore(driver, tokens)
const polls = createPollStore(driver, tokens)
const attendance = createGatewayStore(driver, tokens)

/** Rows of transfers that were read, by whichever index or none. */
async function readSoFar(): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query(
    `select (seq_tup_read + coalesce(idx_tup_fetch, 0) + (
       select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid))::integer as rows
     from pg_stat_user_tables t where schemaname = 'outlay' and relname = 'transfer'`,
  )
  return rows[0].rows
}

beforeEach(() => emptyOutbox(pool))

/** Searches among the gateways that workers have. */
async function searchesSoFar(): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query(
    `select (seq_scan + idx_scan)::integer as searches from pg_stat_user_tables
     where schemaname = 'outlay' and relname = 'attended_gateway'`,
  )
  return rows[0].searches
}

const waiting = 4_000

/** What the search of a worker for one gateway must not read: transfers of an account that wait at the other one, in a state. */
async function fill(set: string): Promise<void> {
  const payouts = Array.from({ length: waiting }, () => samplePayout('acme'))
  await driver.transaction((tx) => engine.transfers.enqueueMany(tx, payouts))
  await pool.query(`update outlay.transfer set ${set}`)
}

describe('a search at one gateway reads nothing of what waits at another:', () => {
  const stop = `insert into outlay.stop (scope, name, reason, actor) values ('gateway', 'bank', 'x', 'x')`
  const cases: readonly (readonly [what: string, set: string, others: string, search: () => Promise<unknown>])[] = [
    [
      'what was refused is not restored',
      `reason = 'unauthenticated'`,
      `insert into outlay.attended_gateway (name) values ('default'), ('bank');
       insert into outlay.unauthorized_account (account_id, probe_at) values ('bank acme', now() + interval '1 hour')`,
      async () => expect(await credentials.releaseRestored()).toBe(false),
    ],
    [
      'permits',
      `reason = 'account_limited'`,
      `insert into outlay.account_throttle (account_id, waiting) values ('acme', true)`,
      async () => expect(await throttles.release()).toEqual([]),
    ],
    [
      'polls',
      `stage = 'submitted', remote_id = id, next_poll_at = now() - interval '1 hour'`,
      '',
      async () => expect(await polls.leaseDue(10, 1_000, [], ['default'])).toEqual([]),
    ],
    [
      'attendance of a stopped one',
      `reason = 'gateway_held'`,
      stop,
      async () => expect(await attendance.attend(['default', 'bank'])).toBe(0),
    ],
  ]
  beforeAll(async () => {
    for (const [, , , search] of cases) for (let round = 0; round < 8; round += 1) await search()
  })

  it.each(cases)('%s', async (_, set, others, search) => {
    await fill(set)
    if (others !== '') await pool.query(others)
    const before = await readSoFar()
    await search()
    expect((await readSoFar()) - before).toBeLessThan(waiting / 20)
  })
})

describe('whether workers have the gateway of what waits is asked for each gateway, not for each transfer:', () => {
  const unattended = [expect.objectContaining({ gateway: 'bank', transfers: waiting })]
  it.each([
    ['at the start of a worker', () => attendance.unattended()],
    ['by the doctor', async () => (await inspect({ driver }).health()).unattendedGateways],
  ])('%s', async (_, ask) => {
    await fill(`reason = null`)
    await pool.query(`insert into outlay.attended_gateway (name) values ('default')`)
    const before = await searchesSoFar()
    expect(await ask()).toEqual(unattended)
    expect((await searchesSoFar()) - before).toBeLessThan(waiting / 20)
  })
})
