import type { EnqueueRequest, Policy } from '@outlay/core'
import { drain, memoryGateway, recordingTelemetry, waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const note = { actor: 'petra', reason: 'as the board decided' }
const large: Policy = {
  name: 'large',
  when: { amounts: { USD: { from: '1000' } } },
  approvals: [{ count: 2, roles: ['finance'] }],
}
const amount = { value: '1000.00', currency: 'USD' }

describe('policies', async () => {
  const { begin, pool, open, commit, rows, enqueue } = await testHost()
  const set = (engine: HostEngine, ...policies: Policy[]) =>
    commit((tx) => engine.policies.set(tx, policies, policies.length === 0 ? { ...note, clear: true } : note))
  const held = (engine: HostEngine, overrides: Partial<EnqueueRequest> = {}) =>
    enqueue(engine, { amount, createdBy: 'carl', ...overrides })
  const approve = (engine: HostEngine, id: string, actor: string, on?: PoolClient) => {
    const run = (tx: PoolClient) => engine.transfers.approve(tx, id, { actor, roles: ['finance'] })
    return on === undefined ? commit(run) : run(on)
  }
  const refusal = async (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: unknown) => error,
    )
  const waitForLock = () =>
    waitUntil(async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await rows(waiting)).length > 0
    })

  it('hold what they are about until enough others have approved it, and then it is sent once', async () => {
    const gateway = memoryGateway()
    const engine = open({ gateway })
    await engine.start()
    await set(engine, large)
    const { id, stage, reason } = await held(engine)
    expect([stage, reason]).toEqual(['held', 'approval'])
    await enqueue(engine, { amount: { value: '999.99', currency: 'USD' } })
    await drain(engine)
    expect(gateway.submissions).toHaveLength(1)

    expect(await refusal(approve(engine, id, ' Carl'.trim()))).toMatchObject({ code: 'approval_refused' })
    const noRole = commit((tx) => engine.transfers.approve(tx, id, { actor: 'anna' }))
    expect(await refusal(noRole)).toMatchObject({
      code: 'approval_refused',
      message: expect.stringContaining('finance'),
    })
    expect(await approve(engine, id, 'anna')).toMatchObject({ released: false, missing: [{ roles: ['finance'] }] })
    expect(await refusal(approve(engine, id, 'ANNA'))).toMatchObject({ code: 'approval_refused' })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', createdBy: 'carl' })
    expect(await approve(engine, id, 'bert')).toEqual({ released: true, holds: [], missing: [] })
    await drain(engine)
    expect(gateway.submissions.map(({ transferId }) => transferId)).toContain(id)
    expect(gateway.submissions).toHaveLength(2)
    expect((await engine.transfers.holds(id))?.approvals).toMatchObject([{ actor: 'anna' }, { actor: 'bert' }])
    expect(await refusal(approve(engine, id, 'dora'))).toMatchObject({ code: 'conflict' })
  })

  it('that ask for different people let one who approved too early for a step approve again', async () => {
    const engine = open()
    const ordered = { approvals: [{ roles: ['finance'] }, { roles: ['cfo'] }], inOrder: true }
    await set(engine, large, { name: 'very-large', ...ordered })
    const { id } = await held(engine)
    const cfo = { actor: 'cleo', roles: ['finance', 'cfo'] }
    const approveAsCfo = () => commit((tx) => engine.transfers.approve(tx, id, cfo))
    expect(await approveAsCfo()).toMatchObject({ released: false })
    expect(await refusal(approveAsCfo())).toMatchObject({ message: expect.stringContaining('already') })
    expect(await approve(engine, id, 'anna')).toMatchObject({ released: false, missing: [{ roles: ['cfo'] }] })
    expect(await approveAsCfo()).toEqual({ released: true, holds: [], missing: [] })
  })

  it('refuse before any SQL, with their name and why, and take a repeat of what was enqueued before', async () => {
    const engine = open()
    const first = await enqueue(engine, { idempotencyKey: 'k' })
    await set(engine, { name: 'no-ach', when: { rails: ['ach_credit'] }, refuse: 'not by ACH' })
    await commit(async (tx) => {
      const refused = { code: 'policy_refused', message: expect.stringContaining('no-ach: not by ACH') }
      await expect(engine.transfers.enqueue(tx, samplePayout('acme'))).rejects.toMatchObject(refused)
      const again = samplePayout('acme', { idempotencyKey: 'k' })
      expect(await engine.transfers.enqueue(tx, again)).toMatchObject({ id: first.id, reused: true })
      const many = [again, samplePayout('acme')]
      await expect(engine.transfers.enqueueMany(tx, many)).rejects.toMatchObject({ field: '1', ...refused })
      expect(await engine.transfers.enqueueMany(tx, [again, again])).toMatchObject([{ reused: true }, { reused: true }])
    })
    expect(await rows('select id from outlay.transfer')).toHaveLength(1)
  })

  it('refuse a transfer without a creator whose approvers could be anybody', async () => {
    const engine = open()
    await set(engine, large)
    const missing = { code: 'missing_field', field: 'createdBy' }
    await expect(enqueue(engine, { amount })).rejects.toMatchObject(missing)
    // Whoever created it could release it.
    await set(engine, { name: 'odd', hold: 'check it' })
    await expect(enqueue(engine)).rejects.toMatchObject(missing)
    expect(await rows('select from outlay.transfer')).toEqual([])
  })

  it('hold in every process from their commit on, whatever it knew before', async () => {
    const [one, two] = [open(), open()]
    const telemetry = recordingTelemetry()
    const traced = open({ telemetry })
    const before = await held(two)
    expect(before.stage).toBe('queued')
    await held(traced)
    await set(one, large)
    expect((await held(two)).stage).toBe('held')
    expect((await held(traced)).stage).toBe('held')
    expect((await held(traced, { metadata: { order: '1' } })).stage).toBe('held')
    // Looser again, and stricter again: a refusal too is by what holds now.
    await set(one, { name: 'none', refuse: 'nothing at all' })
    await expect(held(two)).rejects.toMatchObject({ code: 'policy_refused' })
    await set(one)
    expect((await held(two)).stage).toBe('queued')
    expect((await held(traced)).stage).toBe('queued')
  })

  it('hold each of many, in a batch and in several statements too', async () => {
    const [one, two] = [open(), open()]
    const batch = await commit((tx) => one.batches.create(tx))
    await set(one, large)
    const small = { value: '10.00', currency: 'USD' }
    const request = (at: number, batchId?: string) =>
      samplePayout('acme', {
        amount: at % 2 === 0 ? amount : small,
        createdBy: 'carl',
        ...(batchId ? { batchId } : {}),
      })
    const plain = Array.from({ length: 4 }, (_, at) =>
      samplePayout('acme', { amount: at % 2 === 0 ? amount : small, createdBy: 'carl' }),
    )
    const stages = (await commit((tx) => two.transfers.enqueueMany(tx, plain))).map(({ stage }) => stage)
    expect(stages).toEqual(['held', 'queued', 'held', 'queued'])
    const inBatch = Array.from({ length: 5 }, (_, at) => request(at, batch.id))
    await commit((tx) => open().transfers.enqueueMany(tx, inBatch))
    expect((await one.batches.get(batch.id))?.counts).toMatchObject({ total: 5, unended: 5 })
    // More than one statement, of a process that knows no policies yet.
    const chunked = Array.from({ length: 4_100 }, (_, at) => request(at))
    await commit((tx) => open().transfers.enqueueMany(tx, chunked))
    expect(await one.backlog()).toMatchObject({ held: 2 + 3 + 2_050, queued: 2 + 2 + 2_050 })
    expect(await rows('select count(*)::integer as n from outlay.outbox')).toEqual([{ n: 2 + 2 + 2_050 }])
    expect(await rows('select count(*)::integer as n from outlay.hold')).toEqual([{ n: 2 + 3 + 2_050 }])
  })

  it('hold what is resubmitted', async () => {
    const [one, two] = [open(), open()]
    const { id } = await held(two)
    await commit((tx) => two.transfers.cancel(tx, id))
    await set(one, large)
    const again = await commit((tx) => two.transfers.resubmit(tx, id, { createdBy: 'dora' }))
    expect(again).toMatchObject({ stage: 'held', createdBy: 'dora' })
    expect(await rows('select from outlay.outbox')).toEqual([])
    await commit((tx) => two.transfers.cancel(tx, again.id))
    await set(one, { name: 'none', refuse: 'nothing at all' })
    await commit(async (tx) => {
      await expect(two.transfers.resubmit(tx, again.id)).rejects.toMatchObject({ code: 'policy_refused' })
    })
    expect((await two.transfers.get(again.id))?.resubmittedAs).toBeUndefined()
    await set(one)
    expect(await commit((tx) => two.transfers.resubmit(tx, again.id))).toMatchObject({ stage: 'queued' })
  })

  it('ask who has corrected what is resubmitted, who then does not approve it', async () => {
    const engine = open()
    await set(engine, { ...large, approvals: [{}] })
    const { id } = await held(engine)
    await commit((tx) => engine.transfers.reject(tx, id, { actor: 'bert', reason: 'too little' }))
    const corrected = { amount: { value: '9000.00', currency: 'USD' } }
    const anonymous = commit((tx) => engine.transfers.resubmit(tx, id, corrected))
    expect(await refusal(anonymous)).toMatchObject({ code: 'missing_field', field: 'createdBy' })
    const again = await commit((tx) => engine.transfers.resubmit(tx, id, { ...corrected, createdBy: 'bert' }))
    expect(again).toMatchObject({ stage: 'held', createdBy: 'bert' })
    expect(await refusal(approve(engine, again.id, 'bert'))).toMatchObject({ code: 'approval_refused' })
  })

  it('hold what an earlier release enqueues, which knows none', async () => {
    const engine = open()
    await set(engine, large)
    const one = (id: string) =>
      pool.query(
        `select outlay.enqueue_one_to($1, outlay.job_id($1), 'acme', $1, 'f', $2, false, null, null, null, 'default') as at`,
        [id, JSON.stringify(samplePayout('acme'))],
      )
    expect((await one('01J0000000000000000000000X')).rows[0].at).toMatch(/^\d{4}-/)
    await pool.query(
      `select * from outlay.enqueue_one_with($1, outlay.job_id($1), 'acme', $1, 'f', $2, false, null, null, null, 'default', '{"metadata": {"a": "b"}}')`,
      ['01J0000000000000000000000Y', JSON.stringify(samplePayout('acme'))],
    )
    await pool.query(
      `select * from outlay.enqueue_many_to(array[$1], array[outlay.job_id($1)], array['acme'], array[$1], array['f'], array[$2], false, array[''], array[''], array[''], array['default'])`,
      ['01J0000000000000000000000Z', JSON.stringify(samplePayout('acme'))],
    )
    expect(await engine.backlog()).toMatchObject({ held: 3, queued: 0 })
    expect(await rows('select distinct name, why from outlay.hold')).toEqual([
      { name: 'operator', why: 'It was enqueued by a release that knows no policies.' },
    ])
    const id = '01J0000000000000000000000X'
    const release = commit((tx) => engine.transfers.release(tx, id, note))
    expect(await refusal(release)).toMatchObject({ code: 'conflict', message: expect.stringContaining('reject it') })
    expect(await rows('select from outlay.outbox')).toEqual([])
  })

  it('that were rolled back are not taken for those that got their number', async () => {
    const [one, two] = [open(), open()]
    const host = await begin()
    await two.policies.set(host, [{ ...large, when: { amounts: { USD: { from: '5000' } } } }], note)
    expect((await two.transfers.enqueue(host, samplePayout('acme', { amount, createdBy: 'carl' }))).stage).toBe(
      'queued',
    )
    await host.query('rollback')
    expect(await set(one, large)).toEqual({ version: 1 })
    expect((await held(two)).stage).toBe('held')
  })

  it('of an enqueue in an open transaction are those that held when it was made', async () => {
    const [one, two] = [open(), open()]
    const host = await begin()
    const request = samplePayout('acme', { amount, createdBy: 'carl' })
    const before = await two.transfers.enqueue(host, request)
    // It waits for no host.
    await set(one, large)
    const after = await two.transfers.enqueue(host, request)
    await host.query('commit')
    expect([before.stage, after.stage]).toEqual(['queued', 'held'])
    const snapshot = await begin('repeatable read')
    await snapshot.query('select from outlay.transfer')
    await set(one)
    expect((await two.transfers.enqueue(snapshot, request)).stage).toBe('held')
  })

  it('do not loosen what they hold when they change', async () => {
    const engine = open()
    await set(engine, large)
    const { id } = await held(engine)
    await set(engine, { ...large, approvals: [{ count: 1 }] })
    expect(await approve(engine, id, 'anna')).toMatchObject({ released: false })
    await set(engine)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
    expect((await engine.transfers.holds(id))?.holds).toMatchObject([
      {
        name: 'approval',
        policy: 'large',
        policyVersion: 1,
        requirement: { steps: [{ count: 2, roles: ['finance'] }] },
      },
    ])
    const release = commit((tx) => engine.transfers.release(tx, id, note))
    expect(await refusal(release)).toMatchObject({ code: 'conflict', message: expect.stringContaining('approve it') })
    expect(await approve(engine, id, 'bert')).toMatchObject({ released: true })
  })

  it('that hold without approvals are released by somebody else than the creator', async () => {
    const engine = open()
    await set(engine, { name: 'odd', hold: 'check it' }, large)
    const { id } = await held(engine)
    const release = (actor: string) =>
      commit((tx) => engine.transfers.release(tx, id, { actor, reason: 'checked', hold: 'limit', policy: 'odd' }))
    expect(await refusal(release('Carl'))).toMatchObject({ code: 'approval_refused' })
    expect(await release('olga')).toBe(true)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'approval' })
    await approve(engine, id, 'anna')
    expect(await approve(engine, id, 'bert')).toMatchObject({ released: true })
  })

  it('let two people approve at once, and send it once', async () => {
    const engine = open()
    await set(engine, large)
    const { id } = await held(engine)
    const first = await begin()
    expect(await approve(engine, id, 'anna', first)).toMatchObject({ released: false })
    const second = approve(engine, id, 'bert')
    await waitForLock()
    await first.query('commit')
    expect(await second).toMatchObject({ released: true })
    expect(await rows('select from outlay.outbox')).toHaveLength(1)
  })

  it('let nobody approve twice, in two transactions at once either', async () => {
    const engine = open()
    await set(engine, large)
    const { id } = await held(engine)
    const first = await begin()
    await approve(engine, id, 'anna', first)
    const second = refusal(approve(engine, id, 'Anna'))
    await waitForLock()
    await first.query('commit')
    expect(await second).toMatchObject({ code: 'approval_refused' })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
  })

  it.each(['reject', 'cancel'] as const)(
    'end a transfer by a %s that comes before the last approval, and none after it',
    async (end) => {
      const engine = open()
      await set(engine, { ...large, approvals: [{}] })
      const [ended, approved] = [await held(engine), await held(engine)]
      const first = await begin()
      await engine.transfers[end](first, ended.id, note)
      const late = refusal(approve(engine, ended.id, 'anna'))
      await waitForLock()
      await first.query('commit')
      expect(await late).toMatchObject({ code: 'conflict' })
      expect(await engine.transfers.get(ended.id)).toMatchObject({ stage: 'settled', status: 'canceled' })

      const approver = await begin()
      await approve(engine, approved.id, 'anna', approver)
      const ending = refusal(commit((tx) => engine.transfers[end](tx, approved.id, note)))
      await waitForLock()
      await approver.query('commit')
      // A queued transfer that nobody has claimed is canceled, and not rejected.
      expect(await ending).toEqual(end === 'cancel' ? 'done' : expect.objectContaining({ code: 'conflict' }))
      expect(await rows('select from outlay.outbox')).toHaveLength(end === 'cancel' ? 0 : 1)
    },
  )

  it('let a batch be approved as one, but for nobody who created a part of it', async () => {
    const engine = open()
    await set(engine, { ...large, approvals: [{ count: 2 }] })
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    const [first] = [await held(engine, { batchId }), await held(engine, { batchId, createdBy: 'anna' })]
    await enqueue(engine, { batchId })
    const all = (actor: string) => commit((tx) => engine.batches.approve(tx, batchId, { actor }))
    expect(await refusal(all('anna'))).toMatchObject({ code: 'approval_refused' })
    expect((await engine.transfers.holds(first.id))?.approvals).toEqual([])
    expect(await all('bert')).toEqual({ approved: 2, released: 0 })
    expect(await all('Bert')).toEqual({ approved: 0, released: 0 })
    expect(await all('dora')).toEqual({ approved: 2, released: 2 })
    expect(await engine.backlog()).toMatchObject({ held: 0, queued: 3 })
    expect(await refusal(commit((tx) => engine.batches.approve(tx, 'no', { actor: 'dora' })))).toMatchObject({
      code: 'not_found',
    })
  })

  it('are kept in all their versions, and set behind each other', async () => {
    const engine = open()
    expect(await engine.policies.get()).toMatchObject({ version: 0, policies: [] })
    await set(engine, large)
    const first = await begin()
    await engine.policies.set(first, [], { ...note, clear: true })
    const second = refusal(commit((tx) => engine.policies.set(tx, [large], { ...note, expectedVersion: 1 })))
    await waitForLock()
    await first.query('commit')
    expect(await second).toMatchObject({ code: 'conflict', field: 'expectedVersion' })
    expect(await engine.policies.get()).toMatchObject({ version: 2, policies: [], actor: 'petra' })
    expect(await engine.policies.get({ version: 1 })).toMatchObject({ version: 1, policies: [{ name: 'large' }] })
    expect(await engine.policies.get({ version: 3 })).toBeUndefined()
  })

  it('and what people do are written down, in the transaction of each command', async () => {
    const engine = open()
    await set(engine, { ...large, approvals: [{}] })
    const { id } = await held(engine)
    await commit(async (tx) => {
      await engine.transfers.approve(tx, id, { actor: 'anna' })
      throw new Error('not after all')
    }).catch(() => undefined)
    await commit((tx) => engine.transfers.approve(tx, id, { actor: 'bert', note: 'fine' }))
    await commit((tx) => engine.transfers.cancel(tx, id, { actor: 'olga', reason: 'paid by hand' }))
    const audit = await engine.audit.list()
    expect(audit.map(({ command, actor, reason, transferId }) => [command, actor, reason, transferId])).toEqual([
      ['transfers.cancel', 'olga', 'paid by hand', id],
      ['transfers.approve', 'bert', 'fine', id],
      ['policies.set', 'petra', 'as the board decided', null],
    ])
    expect(audit[1]).toMatchObject({ before: { holds: [{ policy: 'large' }] }, after: { released: true } })
    expect(await engine.audit.list({ actor: 'olga', transferId: id })).toHaveLength(1)
    const [newest] = audit
    expect(await engine.audit.list({ cursor: newest?.id ?? '', limit: 1 })).toMatchObject([{ actor: 'bert' }])
    for (const change of [
      'update outlay.audit set actor = null',
      'delete from outlay.audit',
      'delete from outlay.policy_version',
      'truncate outlay.audit',
      'truncate outlay.policy_version cascade',
    ])
      await expect(pool.query(change)).rejects.toMatchObject({ code: '42501' })
    const unknown = 'update outlay.policy_state set version = 99'
    await expect(pool.query(unknown)).rejects.toMatchObject({ code: '23503' })
  })
})
