import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { signInPayer } from '../../test/quotes.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { createApp } from '../app.ts'
import type { ServiceContext } from '../context.ts'
import type { QuoteResource } from '../quotes/quotes.ts'
import { transfersRoutes } from './routes.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url)
  context = api.sandbox.service.context
})
afterAll(() => api.stop())

const usdc = (value: string) => ({ value, currency: 'USDC' })
const written = async () => {
  const { rows } = await inspect(context.pool).query(
    `select (select count(*)::int from ${context.schema}.transfer) as transfers,
            (select count(*)::int from ${context.schema}.ledger_entry) as entries,
            (select count(*)::int from ${context.schema}.quote where transfer_id is not null) as used`,
  )
  return rows[0]
}

describe('a quote that expires while its transfer is being created', () => {
  it('is refused, and the key remembers that', async () => {
    const client = await signInPayer(api.sandbox)
    const quote = await client.ask(usdc('10'))
    let now = Date.parse(quote.created_at)
    const late: ServiceContext = {
      ...context,
      quotes: { provider: { quote: () => Promise.reject(new Error('unasked')) }, now: () => new Date(now) },
      rails: {
        ...context.rails,
        validate: async () => {
          now = Date.parse(quote.expires_at)
          return undefined
        },
      },
    }
    const app = createApp(late, [transfersRoutes])
    const before = await written()
    const refused = await client.pay(quote, app.fetch)
    expect([refused.status, refused.json['code']]).toEqual([422, 'quote_expired'])
    expect(refused.json['errors']).toMatchObject([{ source: { pointer: '/quote_id' } }])
    expect(await written()).toEqual(before)
    now -= 60_000
    const { rails: _, ...onTime } = late
    expect(
      (await client.pay(quote, createApp({ ...onTime, rails: context.rails }, [transfersRoutes]).fetch)).status,
    ).toBe(201)
  })

  /** The service, so long before the quote expires by the clock of the desk. */
  const lateWith = (quote: QuoteResource, leftMs: () => number, more: Partial<ServiceContext> = {}) => {
    const provider = { quote: () => Promise.reject(new Error('unasked')) }
    const now = () => new Date(Date.parse(quote.expires_at) - leftMs())
    return createApp({ ...context, quotes: { provider, now }, ...more }, [transfersRoutes])
  }

  it.each([
    [20, 422, 'quote_expired'],
    [3_600_000, 201, undefined],
  ])(
    'while the write waits for the wallet, %d ms before, is judged when it has the wallet',
    async (leftMs, status, code) => {
      const client = await signInPayer(api.sandbox)
      const quote = await client.ask(usdc('10'))
      const { pool, schema } = context
      const tx = await pool.connect()
      await tx.query(`begin; select set_config('outlay.system', 'on', true)`)
      await tx.query(`select from ${schema}.ledger_account where address_id = $1 for update`, [client.walletId])
      const paying = client.pay(quote, lateWith(quote, () => leftMs).fetch)
      const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
      and clock_timestamp() > xact_start + interval '20 milliseconds'`
      while ((await inspect(pool).query(waits)).rowCount === 0) await new Promise(setImmediate)
      tx.release(true)
      const answer = await paying
      expect([answer.status, answer.json['code']]).toEqual([status, code])
      const { rows } = await inspect(pool).query(`select transfer_id from ${schema}.quote where id = $1`, [quote.id])
      expect(rows[0].transfer_id === null).toBe(status === 422)
      await expectSoundLedger(context)
    },
  )

  it('while the write waits for a connection is refused', async () => {
    const client = await signInPayer(api.sandbox)
    const quote = await client.ask(usdc('10'))
    let leftMs = 60_000
    let isValid = false
    const pool = new Proxy(context.pool, {
      get(target, name) {
        const member = Reflect.get(target, name)
        if (name !== 'connect') return typeof member === 'function' ? member.bind(target) : member
        return async () => {
          // The next connection is for the write, and comes late.
          if (isValid) leftMs = 0
          return await target.connect()
        }
      },
    })
    const rails: ServiceContext['rails'] = {
      ...context.rails,
      validate: async () => {
        isValid = true
        return undefined
      },
    }
    const refused = await client.pay(quote, lateWith(quote, () => leftMs, { pool, rails }).fetch)
    expect([refused.status, refused.json['code'], isValid]).toEqual([422, 'quote_expired', true])
  })

  it('is not used by a create whose transaction did not commit', async () => {
    const client = await signInPayer(api.sandbox)
    const quote = await client.ask(usdc('10'))
    const { pool, schema } = context
    const tx = await pool.connect()
    await tx.query(`begin; select set_config('outlay.system', 'on', true)`)
    await tx.query(`select ${schema}.quote_claim($1, $2, 'killed', $3)`, [client.accountId, quote.id, quote.created_at])
    const paying = client.pay(quote)
    const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    while ((await inspect(pool).query(waits)).rowCount === 0) await new Promise(setImmediate)
    // As when the process is killed: Postgres rolls back.
    tx.release(true)
    expect((await paying).status).toBe(201)
  })
})
