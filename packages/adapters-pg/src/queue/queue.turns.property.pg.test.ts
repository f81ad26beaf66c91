import { randomUUID } from 'node:crypto'
import process from 'node:process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

/** An account with what waits of it; a host may have locked all of that. */
const account = fc.record({
  waiting: fc.integer({ min: 0, max: 9 }),
  weight: fc.constantFrom(1, 1, 1, 0.1, 0.5, 2.5, 3),
  isLocked: fc.boolean(),
})

const plan = fc.record({
  accounts: fc.array(account, { minLength: 1, maxLength: 8 }),
  limits: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
  turn: fc.option(
    fc.record({
      round: fc.integer({ min: 0, max: 20 }),
      used: fc.integer({ min: 0, max: 5_000 }),
      account: fc.integer({ min: 0, max: 8 }),
    }),
  ),
})

describe('fetches', async () => {
  const { pool } = await testHost({ max: 5 })

  it('end, and take all that nobody has locked, each once, whatever waits and wherever the last one left off', async () => {
    const client = await pool.connect()
    const host = await pool.connect()
    await client.query(`set statement_timeout = '10s'`)
    const run = async ({ accounts, limits, turn }: typeof plan extends fc.Arbitrary<infer Plan> ? Plan : never) => {
      await client.query('truncate outlay.outbox, outlay.account')
      const free = new Set<string>()
      const locked: string[] = []
      for (const [n, { waiting, weight, isLocked }] of accounts.entries()) {
        await client.query('insert into outlay.account (account_id, weight) values ($1, $2)', [`account-${n}`, weight])
        for (let left = waiting; left > 0; left -= 1) {
          const id = randomUUID()
          await client.query(`insert into outlay.outbox (id, account_id, due_at, ready) values ($1, $2, now(), true)`, [
            id,
            `account-${n}`,
          ])
          if (isLocked) locked.push(id)
          else free.add(id)
        }
      }
      await host.query('begin')
      await host.query('select from outlay.outbox where id = any ($1) for update', [locked])
      let place = turn === null ? null : `${turn.round} ${turn.used} account-${turn.account}`
      for (let n = 0; free.size > 0; n += 1) {
        const limit = limits[n % limits.length] ?? 1
        const { rows } = await client.query('select jobs, turn from outlay.queue_fetch($1, $2)', [limit, place])
        const jobs: readonly string[] = rows[0].jobs
        expect(jobs).toHaveLength(Math.min(limit, free.size))
        for (const job of jobs) expect(free.delete(job)).toBe(true)
        place = rows[0].turn
      }
      await host.query('rollback')
    }
    try {
      await fc.assert(
        fc.asyncProperty(plan, (given) => run(given).finally(() => host.query('rollback'))),
        // The same ones each time where tests decide about a change.
        { numRuns: 60, ...(process.env['CI'] === undefined ? {} : { seed: 7_000 }) },
      )
    } finally {
      await client.query('reset statement_timeout')
      client.release()
      host.release()
    }
  })
})
