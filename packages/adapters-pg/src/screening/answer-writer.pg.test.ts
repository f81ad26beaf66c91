import type { ScreeningAnswer, ScreeningResult } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createScreeningStore } from './screenings.ts'

const note = { actor: 'petra', reason: 'as the law asks' }
const screenAll = [{ name: 'sanctions', screen: 'the list' }]
const pass = async () => ({ result: 'pass' }) as const

describe('answers that are written together', async () => {
  const { pool, driver, begin, open, commit, rows } = await testHost()
  const store = createScreeningStore(driver, resolveNames({}).tokens)
  const demand = (engine: HostEngine, others: Parameters<HostEngine['policies']['set']>[1] = []) =>
    commit((tx) => engine.policies.set(tx, [...screenAll, ...others], note))
  const pay = async (engine: HostEngine, count: number, accountId = 'acme') => {
    const payouts = Array.from({ length: count }, () => samplePayout(accountId, { createdBy: 'carl' }))
    return (await commit((tx) => engine.transfers.enqueueMany(tx, payouts))).map(({ id }) => id)
  }
  const lease = () => store.lease({ after: '', limit: 20, mostEach: 20, underWay: new Map(), leaseMs: 60_000 })
  const given = (id: string, answer: ScreeningAnswer | ScreeningResult, ask = 1) => ({
    ...{ id, accountId: 'acme', ask, by: 'a worker', answer: typeof answer === 'string' ? { result: answer } : answer },
  })
  const stagesOf = async (ids: readonly string[]) =>
    (await rows('select stage from outlay.transfer where id = any ($1) order by id', [ids])).map(({ stage }) => stage)
  const answersOf = (ids: readonly string[]) =>
    rows(
      'select result, counted from outlay.screening_answer where transfer_id = any ($1) order by transfer_id, number',
      [ids],
    )

  /** A driver that sees how many answers each statement writes, and does what `before` says first. */
  const watched = (before: (count: number) => Promise<void> | void) => ({
    ...driver,
    query: async (...[statement, values, onSent]: Parameters<typeof driver.query>) => {
      if (statement.name.endsWith('_answer_screenings')) await before(JSON.parse(String(values[0])).length)
      return driver.query(statement, values, onSent)
    },
  })

  it('do to each transfer what its own answer says', async () => {
    const engine = open()
    await demand(engine)
    const ids = await pay(engine, 7)
    const [first = '', second = '', third = '', fourth = '', fifth = '', sixth = '', seventh = ''] = ids
    await commit((tx) => engine.transfers.hold(tx, second, note))
    await lease()
    await commit((tx) => engine.transfers.cancel(tx, sixth))
    const fates = await store.answer([
      given(seventh, 'pass', 0),
      given(sixth, 'pass'),
      given(fifth, 'pass'),
      given(fifth, 'refuse'),
      given(fourth, 'refuse'),
      given(third, { result: 'hold', case: 'c', note: 'a similar name' }),
      given(second, 'pass'),
      given(first, 'pass'),
      given('01J0000000000000000000000Z', 'pass'),
    ])
    expect(fates).toEqual(['late', 'late', 'released', 'locked', 'refused', 'held', 'passed', 'released', 'locked'])
    const now = await Promise.all(ids.map((id) => engine.transfers.get(id)))
    expect(now.map((transfer) => [transfer?.stage, transfer?.reason])).toEqual([
      ['queued', null],
      ['held', 'operator'],
      ['held', 'screening'],
      ['settled', 'screening_refused'],
      ['queued', null],
      ['settled', null],
      ['held', 'screening'],
    ])
    expect((await engine.transfers.holds(third))?.holds[0]?.screening).toMatchObject({ isOnHold: true, case: 'c' })
    const events = await rows(
      'select type from outlay.event where transfer_id = any ($1) order by transfer_id, sequence',
      [[first, fourth]],
    )
    expect(events.map(({ type }) => type)).toEqual([
      'transfer.held',
      'transfer.released',
      'transfer.held',
      'transfer.canceled',
    ])
    expect(await answersOf(ids)).toEqual(
      (['pass', 'pass', 'hold', 'refuse', 'pass', 'pass', 'pass'] as const).map((result, place) => ({
        ...{ result, counted: place < 5 },
      })),
    )
    const waiting = await rows(`select outlay.transfer_of_job(id) as id from outlay.outbox order by 1`)
    expect(waiting.map(({ id }) => id)).toEqual([first, fifth])
  })

  it('are stored once, and say again what became of them, where the connection was lost behind the commit', async () => {
    const engine = open()
    await demand(engine)
    const ids = await pay(engine, 3)
    const results = ['pass', 'hold', 'refuse'] as const
    await lease()
    const all = ids.map((id, place) => given(id, results[place] ?? 'pass'))
    expect(await store.answer(all)).toEqual(['released', 'held', 'refused'])
    expect(await store.answer(all)).toEqual(['passed', 'held', 'refused'])
    expect(await answersOf(ids)).toHaveLength(3)
    expect(await stagesOf(ids)).toEqual(['queued', 'held', 'settled'])
  })

  it('are asked for while others are not written yet, and follow together', async () => {
    const counts: number[] = []
    const write = Promise.withResolvers<void>()
    let asked = 0
    const engine = open({
      driver: watched((count) => {
        counts.push(count)
        return write.promise
      }),
      async screen() {
        asked += 1
        return pass()
      },
    })
    await demand(engine)
    const ids = [...(await pay(engine, 12)), ...(await pay(engine, 12, 'beta')), ...(await pay(engine, 12, 'coop'))]
    await engine.start({ screeningConcurrency: 16 })
    await waitUntil(() => asked === ids.length)
    write.resolve()
    for (const id of ids) await reach(engine, id, { status: 'complete' })
    expect(counts.reduce((sum, count) => sum + count)).toBe(ids.length)
    expect(counts.length).toBeLessThan(ids.length / 4)
    expect(await answersOf(ids)).toEqual(ids.map(() => ({ result: 'pass', counted: true })))
    expect(asked).toBe(ids.length)
  })

  it('are not failed by one that a trigger of the host refuses, nor delayed by one whose transfer it has locked', async () => {
    const gateway = memoryGateway()
    const logger = recordingLogger()
    const engine = open({ gateway, logger, screen: pass })
    await demand(engine)
    const ids = await pay(engine, 8)
    const [bad = '', locked = '', ...others] = ids
    await pool.query(`create function refuse_answer() returns trigger language plpgsql as $$
      begin if new.transfer_id = '${bad}' then raise exception 'not this one'; end if; return new; end $$`)
    await pool.query(`create trigger refuse_answer before insert on outlay.screening_answer
      for each row execute function refuse_answer()`)
    const tx = await begin()
    await tx.query('select from outlay.transfer where id = $1 for update', [locked])
    try {
      await engine.start()
      for (const id of others) await reach(engine, id, { status: 'complete' })
      await waitUntil(() => logger.entries.some(({ message }) => message.startsWith('Postgres refuses the answer')))
    } finally {
      await pool.query('drop function refuse_answer cascade')
    }
    expect(await stagesOf([bad, locked])).toEqual(['held', 'held'])
    expect(await answersOf([bad, locked])).toEqual([])
    await tx.query('commit')
    // The one is asked about again when its lease has ended, and so is the other where its answer was tried too often.
    await rows('update outlay.screening set due_at = clock_timestamp()')
    for (const id of [locked, bad]) await reach(engine, id, { status: 'complete' })
    expect(gateway.submissions).toHaveLength(ids.length)
  })

  it('are kept while the database is out of reach, and nobody is asked again', async () => {
    let failures = 3
    let asked = 0
    const engine = open({
      driver: watched(() => {
        if (failures-- > 0) throw new Error('Connection terminated unexpectedly')
      }),
      async screen() {
        asked += 1
        return pass()
      },
    })
    await demand(engine)
    const ids = await pay(engine, 4)
    await engine.start()
    for (const id of ids) await reach(engine, id, { status: 'complete' })
    expect([asked, failures < 0]).toEqual([ids.length, true])
  })

  it('are written before a worker has stopped, and whoever was not answered is given back', async () => {
    const write = Promise.withResolvers<void>()
    const writing = Promise.withResolvers<void>()
    const gateway = memoryGateway()
    let asked = 0
    const engine = open({
      gateway,
      driver: watched(() => {
        writing.resolve()
        return write.promise
      }),
      screen() {
        asked += 1
        return asked <= 3 ? pass() : new Promise(() => undefined)
      },
    })
    await demand(engine)
    const ids = [...(await pay(engine, 3)), ...(await pay(engine, 2, 'beta'))]
    await engine.start({ screeningConcurrency: 16 })
    await waitUntil(() => asked === ids.length)
    await writing.promise
    const stopped = engine.stop()
    write.resolve()
    await stopped
    expect(await answersOf(ids)).toHaveLength(3)
    const left = () => rows('select asks, due_at <= clock_timestamp() as is_due from outlay.screening')
    await waitUntil(async () => (await left()).every(({ is_due: isDue }) => isDue))
    expect(await left()).toEqual([0, 1].map(() => ({ asks: 1, is_due: true })))
  })
})
