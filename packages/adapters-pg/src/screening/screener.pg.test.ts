import { type EnqueueRequest, OutlayError, type ScreenedTransfer, type Screener } from '@outlay/core'
import { drain, memoryGateway, recordingLogger, recordingTelemetry, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'

const note = { actor: 'petra', reason: 'as the law asks' }
const screenAll = [{ name: 'sanctions', screen: 'all payees are compared with the list' }]

/** Values that are no answer, and ways to give none. */
const noAnswers: Readonly<Record<string, () => unknown>> = {
  nothing: () => undefined,
  true: () => true,
  'a text': () => 'pass',
  'another word': () => ({ result: 'passed' }),
  'a result that is no text': () => ({ result: ['pass'] }),
  'a case that is none': () => ({ result: 'pass', case: '' }),
  'a note that is none': () => ({ result: 'pass', note: 5n }),
  'a getter that throws': () => ({
    get result() {
      throw new Error('odd')
    },
  }),
  'what is thrown at once': () => {
    throw new TypeError('not a function')
  },
  'a rejection': () => Promise.reject(new Error('HTTP 503 \0 \ud800')),
}

describe('screening', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const demand = (engine: HostEngine) => commit((tx) => engine.policies.set(tx, screenAll, note))
  const pay = (engine: HostEngine, overrides: Partial<EnqueueRequest> = {}) =>
    enqueue(engine, { createdBy: 'carl', ...overrides })
  const release = (engine: HostEngine, id: string, actor = 'olga') =>
    commit((tx) =>
      engine.transfers.release(tx, id, { actor, reason: 'checked', hold: 'screening', policy: 'sanctions' }),
    )
  const screeningOf = async (engine: HostEngine, id: string) => (await engine.transfers.holds(id))?.holds[0]?.screening
  const asked = (engine: HostEngine, id: string, asks: number) =>
    waitUntil(async () => ((await screeningOf(engine, id))?.asks ?? 0) >= asks)

  it('asks about a committed transfer outside of any transaction, and sends it after the answer is stored', async () => {
    const gateway = memoryGateway()
    const seen: ScreenedTransfer[] = []
    const opened: unknown[] = []
    const engine = open({
      gateway,
      async screen(transfer, signal) {
        seen.push(transfer)
        expect([signal.aborted, gateway.submissions.length]).toEqual([false, 0])
        opened.push(
          ...(await rows(
            `select query from pg_stat_activity where datname = current_database() and state = 'idle in transaction' and query like '%screening%'`,
          )),
        )
        return { result: 'pass', note: 'nobody on the list' }
      },
    })
    await demand(engine)
    await engine.start()
    const { id, stage, reason } = await pay(engine, { metadata: { invoice: '7' } })
    expect([stage, reason]).toEqual(['held', 'screening'])
    await reach(engine, id, { status: 'complete' })
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({
      ...{ id, accountId: 'acme', gateway: 'default', createdBy: 'carl', policies: ['sanctions'], ask: 1 },
      ...{ metadata: { invoice: '7' }, request: { amount: { value: '12.50', currency: 'USD' } } },
    })
    expect(opened).toEqual([])
    const held = await engine.transfers.holds(id)
    expect(held?.screenings).toEqual([
      expect.objectContaining({ result: 'pass', note: 'nobody on the list', isCounted: true }),
    ])
    const timeline = await rows(`select what, detail from outlay.timeline_of($1) where what like 'screening%'`, [id])
    expect(timeline).toEqual([{ what: 'screening pass', detail: expect.stringContaining('nobody on the list') }])
    // The stored answer is never changed.
    await expect(pool.query(`update outlay.screening_answer set result = 'hold'`)).rejects.toThrow('only added')
    expect(await rows('select * from outlay.screening')).toEqual([])
  })

  it('asks nothing without a policy, and says so at the start', async () => {
    const logger = recordingLogger()
    const engine = open({
      logger,
      screen() {
        throw new Error('asked')
      },
    })
    await engine.start()
    expect(logger.entries.map(({ message }) => message).join()).toContain('no policy asks for screening')
    const { id } = await enqueue(engine)
    await reach(engine, id, { status: 'complete' })
    expect(await rows('select * from outlay.screening_answer')).toEqual([])
  })

  it('keeps what has to be screened from a worker without a screener, until one with it lets it go', async () => {
    const gateway = memoryGateway()
    const without = open({ gateway })
    await demand(without)
    await without.start()
    const { id } = await pay(without)
    // Something else goes meanwhile, by the same worker.
    await commit((tx) => without.policies.set(tx, [], { ...note, clear: true }))
    const other = await enqueue(without)
    await reach(without, other.id, { status: 'complete' })
    expect(await without.transfers.get(id)).toMatchObject({ stage: 'held', attempt: 0 })
    const engine = open({ gateway, screen: () => ({ result: 'pass' }) })
    await engine.start()
    await reach(without, id, { status: 'complete' })
  })

  it('ends what is refused as canceled, and screens what is resubmitted anew', async () => {
    const gateway = memoryGateway()
    const answers: Record<string, 'refuse' | 'pass'> = {}
    const screener: Screener = ({ id }) => ({ result: answers[id] ?? 'refuse', case: `c-${id}`, note: 'on the list' })
    const engine = open({ gateway, screen: screener })
    await demand(engine)
    await engine.start()
    const { id } = await pay(engine)
    await reach(engine, id, { stage: 'settled', status: 'canceled', reason: 'screening_refused' })
    const events = await rows('select type from outlay.event where transfer_id = $1 order by sequence', [id])
    expect(events.map(({ type }) => type)).toEqual(['transfer.held', 'transfer.canceled'])
    expect((await engine.transfers.holds(id))?.holds).toEqual([])
    expect((await engine.transfers.holds(id))?.screenings).toMatchObject([{ result: 'refuse', case: `c-${id}` }])
    const again = await commit((tx) => engine.transfers.resubmit(tx, id, { createdBy: 'dora' }))
    expect(again.stage).toBe('held')
    await reach(engine, again.id, { status: 'canceled', reason: 'screening_refused' })
    expect(gateway.submissions).toEqual([])
  })

  it('holds under a case until a later answer about that case, or somebody who did not create it', async () => {
    const gateway = memoryGateway()
    const engine = open({ gateway, screen: ({ ask }) => ({ result: 'hold', case: `c${ask}`, note: 'a similar name' }) })
    await demand(engine)
    await engine.start()
    const [first, second, third] = [await pay(engine), await pay(engine), await pay(engine)]
    for (const { id } of [first, second, third]) {
      await waitUntil(async () => (await screeningOf(engine, id))?.isOnHold)
      expect(await screeningOf(engine, id)).toMatchObject({ isOnHold: true, case: 'c1', failures: 0 })
    }
    const answer = (id: string, result: 'pass' | 'hold' | 'refuse', named?: string, actor = 'provider') =>
      commit((tx) => engine.transfers.answerScreening(tx, id, { result, case: named, actor, reason: 'checked' }))
    await expect(answer(first.id, 'pass', 'c2')).rejects.toMatchObject({ code: 'conflict', field: 'case' })
    await expect(answer(first.id, 'pass')).rejects.toMatchObject({ code: 'conflict', field: 'case' })
    await expect(answer(first.id, 'pass', 'c1', 'Carl')).rejects.toMatchObject({ code: 'approval_refused' })
    await expect(answer(first.id, 'passed' as 'pass')).rejects.toMatchObject({ field: 'result' })
    expect(await answer(first.id, 'pass', 'c1')).toEqual({ isCounted: true, isReleased: true })
    await reach(engine, first.id, { status: 'complete' })
    // A webhook that comes twice changes nothing, and one that contradicts is stored.
    expect(await answer(first.id, 'pass', 'c1')).toEqual({ isCounted: false, isReleased: false })
    expect(await answer(first.id, 'refuse', 'c1')).toEqual({ isCounted: false, isReleased: false })
    const stored = (await engine.transfers.holds(first.id))?.screenings ?? []
    expect(stored.map(({ result, by, isCounted }) => [result, by.includes(':') ? 'worker' : by, isCounted])).toEqual([
      ['hold', 'worker', true],
      ['pass', 'provider', true],
      ['refuse', 'provider', false],
    ])
    expect(await answer(second.id, 'refuse', 'c1')).toEqual({ isCounted: true, isReleased: false })
    expect(await engine.transfers.get(second.id)).toMatchObject({ status: 'canceled', reason: 'screening_refused' })
    await expect(release(engine, third.id, 'carl')).rejects.toMatchObject({ code: 'approval_refused' })
    expect(await release(engine, third.id)).toBe(true)
    await reach(engine, third.id, { status: 'complete' })
    expect(gateway.submissions).toHaveLength(2)
    const audit = await engine.audit.list({ command: 'transfers.answer_screening' })
    expect(audit.map(({ transferId }) => transferId).sort()).toEqual([first.id, second.id].sort())
  })

  it('lets nothing pass by an answer that comes before there is a case', async () => {
    const engine = open()
    await demand(engine)
    const { id } = await pay(engine)
    const answer = (result: 'pass' | 'refuse') =>
      commit((tx) => engine.transfers.answerScreening(tx, id, { result, ...note }))
    await expect(answer('pass')).rejects.toMatchObject({ code: 'conflict', field: 'case' })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
    expect(await answer('refuse')).toEqual({ isCounted: true, isReleased: false })
    const unknown = commit((tx) =>
      engine.transfers.answerScreening(tx, '01J0000000000000000000000Z', { result: 'refuse', ...note }),
    )
    await expect(unknown).rejects.toMatchObject({ code: 'transfer_not_found' })
  })

  it('holds, and asks again, where the screener gives no answer, in whatever way', async () => {
    const gateway = memoryGateway()
    const telemetry = recordingTelemetry()
    const logger = recordingLogger()
    let fails = true
    const engine = open({
      ...{ gateway, fraction: 0, telemetry, logger },
      screen: ({ metadata }) =>
        (fails ? noAnswers[metadata?.['way'] ?? '']?.() : { result: 'pass' }) as { result: 'pass' },
    })
    await demand(engine)
    await engine.start({ screeningConcurrency: 100 })
    const made: Record<string, string> = {}
    for (const way of Object.keys(noAnswers)) made[way] = (await pay(engine, { metadata: { way } })).id
    for (const [way, id] of Object.entries(made)) {
      await asked(engine, id, 2)
      const state = await screeningOf(engine, id)
      expect([way, state]).toEqual([way, expect.objectContaining({ isOnHold: false, lastError: expect.any(String) })])
      expect([way, state?.failingSince]).toEqual([way, expect.any(String)])
    }
    expect(await rows('select * from outlay.screening_answer')).toEqual([])
    expect(gateway.submissions).toEqual([])
    fails = false
    for (const id of Object.values(made)) await reach(engine, id, { status: 'complete' })
    const counted = telemetry.values.filter(({ instrument }) => instrument === 'outlay.screening.outcomes')
    const outcomes = counted.map(({ attributes }) => attributes['outlay.outcome'])
    expect([outcomes[0], outcomes.at(-1)]).toEqual(['no_answer', 'pass'])
    const said = logger.entries.filter(({ message }) => message.startsWith('The screener'))
    expect(said.map(({ level }) => level)).toEqual(['warn', 'info'])
  })

  it('abandons a call that hangs, and lets its late pass change nothing', async () => {
    const gateway = memoryGateway()
    const hung: ((answer: { readonly result: 'pass' }) => void)[] = []
    const signals: AbortSignal[] = []
    const engine = open({
      ...{ gateway, fraction: 0, timeouts: { screenMs: 20 } },
      screen(_, signal) {
        signals.push(signal)
        return new Promise((resolve) => hung.push(resolve))
      },
    })
    await demand(engine)
    await engine.start()
    const { id } = await pay(engine)
    await asked(engine, id, 2)
    expect(signals[0]?.aborted).toBe(true)
    hung[0]?.({ result: 'pass' })
    await asked(engine, id, 3)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
    expect(await rows('select * from outlay.screening_answer')).toEqual([])
    await engine.stop()
    expect(gateway.submissions).toEqual([])
  })

  it('sends nothing while people have to approve it beside', async () => {
    const gateway = memoryGateway()
    const engine = open({ gateway, screen: () => ({ result: 'pass' }) })
    await commit((tx) => engine.policies.set(tx, [...screenAll, { name: 'two', approvals: [{}] }], note))
    await engine.start()
    const { id } = await pay(engine)
    await waitUntil(async () => (await engine.transfers.holds(id))?.screenings?.length === 1)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'approval' })
    await commit((tx) => engine.transfers.approve(tx, id, { actor: 'anna' }))
    await reach(engine, id, { status: 'complete' })
    await drain(engine)
    expect(gateway.submissions).toHaveLength(1)
  })

  it('needs a function, and a creator of what it holds', async () => {
    expect(() => open({ screen: 'pass' as unknown as Screener })).toThrow('screen is a function')
    const engine = open()
    await demand(engine)
    const error = await enqueue(engine).catch((thrown: unknown) => thrown)
    expect(OutlayError.is(error) && [error.code, error.field]).toEqual(['missing_field', 'createdBy'])
  })
})
