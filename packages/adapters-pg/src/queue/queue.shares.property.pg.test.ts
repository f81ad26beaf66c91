import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

interface Plan {
  /** The weight of each account, in the order of their names. */
  readonly weights: readonly number[]
  readonly limits: readonly number[]
}

const plan = fc.record({
  weights: fc.array(fc.constantFrom(1, 1, 0.5, 0.1, 0.3, 0.01, 1.5, 2.5, 3), { minLength: 1, maxLength: 5 }),
  limits: fc.array(fc.oneof(fc.constant(200), fc.integer({ min: 1, max: 200 })), { minLength: 12, maxLength: 20 }),
})

/** More than any turn of a fetch, so that nobody's backlog ends. */
const backlog = 450

/** Who has the next transfer, for ever: each account in its turn, round by round. */
function* takeTurns(weights: readonly number[]): Generator<number> {
  for (let round = 0; ; round += 1)
    for (const [account, weight] of weights.entries())
      for (let left = Math.floor(weight * (round + 1)) - Math.floor(weight * round); left > 0; left -= 1) yield account
}

/** How many transfers each account has of those. */
const countOf = (weights: readonly number[], turns: readonly number[]) =>
  weights.map((_, account) => turns.filter((one) => one === account).length)

describe('fetches from accounts whose backlog does not end', async () => {
  const { pool } = await testHost({ max: 5 })
  const client = await pool.connect()
  afterAll(() => client.release())

  const fill = (account: number, count: number) =>
    client.query(
      `insert into outlay.outbox (id, account_id, due_at, ready) select gen_random_uuid(), $1, now(), true from generate_series(1, $2)`,
      [`account-${account}`, count],
    )

  /** Empties the outbox and gives each account its weight and a backlog. */
  const begin = async (weights: readonly number[]) => {
    await client.query('truncate outlay.outbox, outlay.account')
    for (const [account, weight] of weights.entries()) {
      await client.query('insert into outlay.account (account_id, weight) values ($1, $2)', [
        ...[`account-${account}`, weight],
      ])
      await fill(account, backlog)
    }
  }

  /** Fetches once, fills up what is gone, and gives how many each account had, and the next turn. */
  const fetch = async (weights: readonly number[], limit: number, turn: string) => {
    const { rows } = await client.query('select turn from outlay.queue_fetch($1, $2)', [limit, turn])
    const { rows: left } = await client.query(
      'select account_id, count(*)::integer as count from outlay.outbox group by account_id',
    )
    const counts = weights.map(
      (_, account) => backlog - (left.find(({ account_id }) => account_id === `account-${account}`)?.count ?? 0),
    )
    for (const [account, count] of counts.entries()) if (count > 0) await fill(account, count)
    return { counts, turn: rows[0].turn as string }
  }

  const run = async ({ weights, limits }: Plan) => {
    await begin(weights)
    const turns = takeTurns(weights)
    const total = weights.map(() => 0)
    let turn = '0 0 '
    for (const limit of limits) {
      const fetched = await fetch(weights, limit, turn)
      const sum = fetched.counts.reduce((one, other) => one + other)
      expect(sum).toBeGreaterThan(0)
      if (Math.max(...weights) >= 0.1) expect(sum).toBe(limit)
      // What single rounds would have fetched, whatever the fetch does at once.
      expect(fetched.counts).toEqual(
        countOf(
          weights,
          Array.from({ length: sum }, () => turns.next().value),
        ),
      )
      for (const [account, count] of fetched.counts.entries()) total[account] = (total[account] ?? 0) + count
      turn = fetched.turn
    }
    // Within one circle of the share of its weight, whatever its name.
    for (const [one, weight] of weights.entries())
      for (const [other, beside] of weights.entries()) {
        const ahead = (total[one] ?? 0) / weight - (total[other] ?? 0) / beside
        expect(Math.abs(ahead)).toBeLessThanOrEqual(1 + Math.max(1 / weight, 1 / beside))
      }
  }

  it('give each the share of its weight, in any order of names and with any limits', async () => {
    await fc.assert(fc.asyncProperty(plan, run), {
      numRuns: 25,
      examples: [
        [{ weights: [1, 0.5], limits: Array(12).fill(200) }],
        [{ weights: [0.5, 1], limits: Array(12).fill(200) }],
        [{ weights: [1, 0.01], limits: Array(12).fill(200) }],
        [{ weights: [1, 1.5], limits: Array(12).fill(200) }],
      ],
    })
  })
})
