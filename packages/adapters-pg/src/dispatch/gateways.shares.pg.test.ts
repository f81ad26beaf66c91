import { Id, type SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { outboxTable } from '../../test/queue.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createAttemptStore } from './attempts.ts'

const host = await testHost()
const { driver, pool, open, enqueue, commit, rows } = host

/** Two services, of which the second answers nothing until `release`. */
function hangingSecond() {
  const first = memoryGateway({ status: 'processing' })
  const second = memoryGateway({ status: 'processing' })
  const answered = Promise.withResolvers<SubmitResult | undefined>()
  second.script(() => answered.promise)
  return { first, second, release: () => answered.resolve(undefined) }
}

describe('a gateway that hangs', () => {
  it('takes its share of what a worker sends at once, whatever number of accounts its transfers are of', async () => {
    const { first, second, release } = hangingSecond()
    const engine = open({ gateways: { default: first, second }, route: ({ note }) => note ?? 'default' })
    const waiting = []
    for (let index = 0; index < 60; index += 1)
      waiting.push(await enqueue(engine, { accountId: `h${index}`, note: 'second' }))
    // Its account comes behind all the others in the order of the turns.
    const other = await enqueue(engine, { accountId: 'zz' })
    await engine.start({ concurrency: 10, slowAfterMs: 100 })
    await reach(engine, other.id, { stage: 'submitted' })
    await waitUntil(() => second.submissions.length >= 20)
    await reach(engine, (await enqueue(engine, { accountId: 'zz' })).id, { stage: 'submitted' })
    expect([first.submissions.length, second.submissions.length]).toEqual([2, 20])
    release()
    for (const { id } of waiting) await reach(engine, id, { stage: 'submitted' })
    expect(second.submissions.length).toBe(60)
  })

  it('has no share where it is the only one', async () => {
    const { second, release } = hangingSecond()
    const engine = open({ gateway: second })
    for (let index = 0; index < 41; index += 1) await enqueue(engine, { accountId: `h${index}` })
    await engine.start({ concurrency: 10, slowAfterMs: 100 })
    await waitUntil(() => second.submissions.length === 40)
    release()
    await waitUntil(() => second.submissions.length === 41)
  })
})

const attempts = createAttemptStore(driver, resolveNames({}).tokens)
const note = 'second'

describe('a gateway that a worker lacks', () => {
  it('keeps no transfer of the same account behind those to it', async () => {
    const engine = open({
      gateways: { default: memoryGateway(), second: memoryGateway() },
      route: (request) => request.note ?? 'default',
    })
    for (let index = 0; index < 30; index += 1) await enqueue(engine, { note })
    const { id } = await enqueue(engine)
    const fetched = await attempts.fetch(2, 'worker', { gateways: ['default'] })
    expect(fetched.map(({ claim }) => claim?.transferId)).toEqual([id])
  })
})

describe('a stopped gateway of several', () => {
  const gateways = ['default', 'second']
  const countHeld = () =>
    rows(`select account_id as account, reason, count(*)::integer as count from outlay.transfer
      where gateway = 'second' group by 1, 2 order by 1, 2`)
  const readReady = async () =>
    (await rows(`select id from ${outboxTable} where ready order by id`)).map(({ id }) => Id.fromUuid(id))

  it('costs an account one fetch for all that it has there, and none of them is lost when the stop ends', async () => {
    const second = memoryGateway({ status: 'processing' })
    const engine = open({
      gateways: { default: memoryGateway(), second },
      route: (request) => request.note ?? 'default',
    })
    const stop = { scope: 'gateway', name: 'second' } as const
    await commit((tx) => engine.stops.add(tx, stop))
    const ids = []
    for (let index = 0; index < 30; index += 1) ids.push((await enqueue(engine, { note })).id)
    const other = await enqueue(engine, { accountId: 'other', note })
    const sent = await enqueue(engine)
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query('select 1 from outlay.transfer where id = $1 for update', [ids.at(-1)])
      const fetched = await attempts.fetch(2, 'worker', { gateways })
      expect(fetched.map(({ claim }) => claim?.transferId)).toEqual([sent.id, undefined])
      expect(await attempts.claim(fetched.slice(1), 'worker', { gateways })).toEqual([])
      expect(await countHeld()).toEqual([
        { account: 'acme', reason: 'gateway_held', count: 29 },
        { account: 'acme', reason: null, count: 1 },
        { account: 'other', reason: null, count: 1 },
      ])
      expect(await readReady()).toEqual([ids.at(-1), other.id])
      const readSince = () => rows(`select id, updated_at from outlay.transfer where reason is not null order by id`)
      const since = await readSince()
      // When they come again, one of each account brings the others, too.
      await rows(`update ${outboxTable} set ready = true where not ready`)
      const again = await attempts.fetch(2, 'worker', { gateways })
      expect(await attempts.claim(again, 'worker', { gateways })).toEqual([])
      expect(await readReady()).toEqual([ids.at(-1)])
      expect(await readSince()).toEqual(expect.arrayContaining(since))
    } finally {
      await client.query('rollback')
      client.release()
    }
    await commit((tx) => engine.stops.end(tx, stop))
    await engine.start()
    for (const id of [...ids, other.id]) await reach(engine, id, { stage: 'submitted' })
    expect(second.submissions.length).toBe(31)
  })
})
