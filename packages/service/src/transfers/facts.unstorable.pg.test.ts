import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { ServiceContext } from '../context.ts'
import type { RailFact } from '../rails/port.ts'
import { applyFacts } from './facts.ts'

// A fact that is accepted is never said again. So one that could not be stored is accepted only as far as its values are why.

const database = await testDatabase({ role: 'ordinary' })
const logger = recordingLogger()
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  payments = testPayments(api)
  context = { ...api.sandbox.service.context, logger }
})
afterAll(() => api.stop())

const report = (facts: readonly RailFact[], pool = context.pool) => applyFacts({ ...context, pool })(facts)
const storedOf = async (fact: RailFact) => {
  const { rows } = await inspect(context.pool).query(
    `select kind, reference, transfer_id as "transferId", account_id as "accountId", amount_value as value, payload,
            exception_reason as reason
       from ${context.schema}.rail_fact where transfer_id = $1 and kind <> 'expected' or payload ->> 'sha256' is not null
      order by id`,
    [fact.transferId],
  )
  return rows
}

/** Refuses rows of facts while the work runs. */
const refusing = async (sqlState: string, condition: string, work: () => Promise<void>) => {
  const table = `${context.schema}.rail_fact`
  const raise = `raise exception 'It is refused.' using errcode = '${sqlState}'`
  await inspect(context.pool).query(`
    create function ${context.schema}.picky() returns trigger language plpgsql as $$
    begin if ${condition} then ${raise}; end if; return new; end $$;
    create trigger picky before insert on ${table} for each row execute function ${context.schema}.picky()`)
  try {
    await work()
  } finally {
    await inspect(context.pool).query(`drop trigger picky on ${table}; drop function ${context.schema}.picky()`)
  }
}

/** A pool whose first connections are refused by Postgres itself. */
const refusedFirst = (times: number) => {
  const url = new URL(database.url)
  url.username = 'nobody_of_this_name'
  const refused = new pg.Pool({ connectionString: url.href, max: 1 })
  const codes: unknown[] = []
  const connect = async () => {
    if (codes.length === times) return await context.pool.connect()
    return await refused.connect().catch((error: unknown) => {
      codes.push((error as { readonly code?: unknown }).code)
      throw error
    })
  }
  const pool = new Proxy(context.pool, {
    get: (target, name) => {
      if (name === 'connect') return connect
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  return { pool, codes, end: () => refused.end() }
}

describe('a fact that was not stored', () => {
  it.each([1, 2, 3])('because its role may not log in, %i times, is not accepted and comes again', async (times) => {
    const transfer = await payments.payout()
    const fact = await payments.factOf(transfer, 'settled')
    const { pool, codes, end } = refusedFirst(times)
    for (let at = 1; at <= times; at += 1) await expect(report([fact], pool)).rejects.toThrow()
    expect(codes.filter((code) => /^28/.test(String(code)))).toHaveLength(times)
    expect(await storedOf(fact)).toEqual([])
    expect(await report([fact], pool)).toEqual(new Set([fact.reference]))
    await payments.reaches(transfer.id, 'complete')
    await end()
  })

  it('because of a constraint is not accepted, and those beside it are', async () => {
    const [transfer, other] = [await payments.payout(), await payments.payout()]
    const [fact, beside] = [await payments.factOf(transfer, 'settled'), await payments.factOf(other, 'settled')]
    await refusing('23514', `new.transfer_id = '${transfer.id}'`, async () => {
      expect(await report([fact, beside])).toEqual(new Set([beside.reference]))
      await payments.reaches(other.id, 'complete')
    })
    expect(await storedOf(fact)).toEqual([])
    expect(logger.entries.map(({ fields }) => fields)).toContainEqual({ error: '23514' })
    expect(await report([fact])).toEqual(new Set([fact.reference]))
    await payments.reaches(transfer.id, 'complete')
  })

  it('because of a value keeps its kind, transfer, account and amount, once, and those beside it are applied', async () => {
    const [transfer, other] = [await payments.payout(), await payments.payout()]
    const fact = { ...(await payments.factOf(transfer, 'settled')), source: { transactionId: 'poison' } }
    const beside = await payments.factOf(other, 'settled')
    const { transferId, accountId, amount } = fact
    await refusing('22P05', "new.payload::text like '%poison%'", async () => {
      for (let time = 0; time < 2; time += 1)
        expect(await report([fact, beside])).toEqual(new Set([fact.reference, beside.reference]))
    })
    await payments.reaches(other.id, 'complete')
    const found = { kind: 'unreadable', reason: 'unreadable', transferId, accountId }
    const payload = { kind: 'settled', sha256: expect.any(String) }
    expect(await storedOf(fact)).toMatchObject([{ ...found, value: amount.value, payload }])
    expect(await payments.exceptions({ transferId })).toMatchObject([{ ...found, amount }])
    expect((await payments.read(transfer.id)).status).toBe('processing')
  })

  it('because of its amount keeps the digest alone', async () => {
    const transfer = await payments.payout()
    const fact = { ...(await payments.factOf(transfer, 'settled')), amount: { value: '666', currency: 'USDC' } }
    await refusing('22003', 'new.amount_value = 666', async () => {
      expect(await report([fact])).toEqual(new Set([fact.reference]))
    })
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    const bare = { kind: 'unreadable', transferId: null, value: null, payload: { sha256: expect.any(String) } }
    expect((await storedOf(fact)).at(-1)).toMatchObject({ ...bare, reason: 'unreadable' })
  })
})
