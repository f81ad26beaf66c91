import type { Gateway } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { countJobs, removeJobs } from '../../test/queue.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

const payout = (idempotencyKey: string, accountId = 'acme') => samplePayout(accountId, { idempotencyKey })

/** What `found_transfer` has about a transfer of others. */
const found = (key: string, more = {}) => ({
  ...{ id: '01J0000000000000000000000Q', key, fingerprint: 'f', request: samplePayout('acme'), stage: 'submitted' },
  ...{ status: 'pending', failure: null, reached_at: null, events: ['transfer.adopted'], ...more },
})

describe('an id at the service', async () => {
  const host = await testHost()
  const { pool } = host
  const restored = restoredDatabase(host)
  const { commit, make, rows, isSent } = restored

  /** A service that answers these keys of hosts with one id, `same`, and all others with their own. */
  function confused(keys: readonly string[]) {
    const gateway = listingGateway()
    const submit: Gateway['submit'] = async (submission, sending) => {
      const answer = await gateway.submit(submission, sending)
      const [row] = await rows('select idempotency_key as key from outlay.transfer where id = $1', [
        submission.transferId,
      ])
      return keys.includes(row.key) && answer.outcome === 'accepted'
        ? { outcome: 'accepted', remoteId: 'same' }
        : answer
    }
    return { ...gateway, submit }
  }
  const enqueue = async (engine: ReturnType<typeof make>, key: string) =>
    (await commit((tx) => engine.transfers.enqueue(tx, payout(key)))).id
  const adopt = (more = {}) =>
    rows('select id from outlay.adopt_lost($1, $2::jsonb)', [
      'acme',
      JSON.stringify([{ remote_id: 'same', automated: false, transfer: found('adopted same', more) }]),
    ])
  const isBlocked = (engine: ReturnType<typeof make>, id: string) => reach(engine, id, { stage: 'blocked' })
  const eventsOf = async (id: string) =>
    (await rows('select type from outlay.events_of($1) order by sequence', [id])).map(({ type }) => type)
  const blockedEvents = ['transfer.enqueued', 'transfer.blocked']

  it('that an adopted transfer has is not given to the one whose key is answered with it: that is blocked, and named', async () => {
    const engine = make(confused(['two']))
    const [adopted] = await adopt()
    const ids = [await enqueue(engine, 'one'), await enqueue(engine, 'two'), await enqueue(engine, 'three')]
    const [one = '', two = '', three = ''] = ids
    const received: string[] = []
    engine.subscribe('books', ['transfer.submitted', 'transfer.blocked'], async ({ type, transfer }) => {
      received.push(`${type} ${transfer.idempotencyKey}`)
    })
    await engine.start()
    for (const id of [one, three]) await isSent(engine, id)
    await isBlocked(engine, two)
    expect(await engine.transfers.get(two)).toMatchObject({
      reason: 'remote_id_taken',
      remoteId: null,
      status: 'pending',
    })
    expect(await eventsOf(two)).toEqual(blockedEvents)
    const [attempt] = await rows('select outcome, detail from outlay.attempt where transfer_id = $1', [two])
    expect(attempt).toEqual({
      outcome: 'accepted',
      detail: `accepted as same, which is the id of the transfer ${adopted.id} of the account`,
    })
    await waitUntil(() => received.length >= 3)
    expect(received.toSorted()).toEqual(['transfer.blocked two', 'transfer.submitted one', 'transfer.submitted three'])
    // A payment was made for it, so it cannot be canceled, and nothing more is sent of it.
    await expect(commit((tx) => engine.transfers.cancel(tx, two))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
    expect(await countJobs(pool)).toBe(0)
    const [stuck] = await rows('select waits_for from outlay.stuck_transfers where id = $1', [two])
    expect(stuck.waits_for).toContain('is that of another transfer here')
    expect(await restored.doubled()).toEqual([])
  })

  it('with which the service answers two keys is that of one transfer; the other one is blocked', async () => {
    const gateway = confused(['one', 'two'])
    const engine = make(gateway)
    const ids = [await enqueue(engine, 'one'), await enqueue(engine, 'two'), await enqueue(engine, 'three')]
    await engine.start()
    await isSent(engine, ids[2] ?? '')
    const read = () => Promise.all(ids.slice(0, 2).map((id) => engine.transfers.get(id)))
    await waitUntil(async () => (await read()).every((one) => one?.stage === 'submitted' || one?.stage === 'blocked'))
    expect((await read()).map((one) => [one?.stage, one?.remoteId]).toSorted()).toEqual([
      ['blocked', null],
      ['submitted', 'same'],
    ])
    expect(gateway.submissions).toHaveLength(3)
  })

  it('of another account belongs to that account alone', async () => {
    const engine = make(confused(['one', 'two']))
    const ids = [await enqueue(engine, 'one')]
    ids.push((await commit((tx) => engine.transfers.enqueue(tx, payout('two', 'other')))).id)
    await engine.start()
    for (const id of ids) await isSent(engine, id)
  })

  it('that a host is just giving away makes no other session wait, and then blocks the one that is answered with it', async () => {
    const engine = make(confused(['two']))
    const first = await enqueue(engine, 'first')
    await rows(
      `update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown', attempt = 1, unknown_since = now()`,
    )
    await removeJobs(pool)
    let two = ''
    await commit(async (tx) => {
      await engine.transfers.resolve(tx, first, { remoteId: 'same' })
      two = await enqueue(engine, 'two')
      const others = [await enqueue(engine, 'three'), await enqueue(engine, 'four')]
      await engine.start()
      for (const id of others) await isSent(engine, id)
      await reach(engine, two, { stage: 'submitting' })
    })
    await isBlocked(engine, two)
    expect(await engine.transfers.get(two)).toMatchObject({ reason: 'remote_id_taken' })
    expect(await engine.transfers.get(first)).toMatchObject({ remoteId: 'same' })
  })

  it('that a person gave to the wrong transfer is given to the right one, and the wrong one waits for a person', async () => {
    const engine = make(confused(['two']))
    const wrong = await enqueue(engine, 'wrong')
    await rows(
      `update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown', attempt = 1, unknown_since = now()`,
    )
    await removeJobs(pool)
    await commit((tx) => engine.transfers.resolve(tx, wrong, { remoteId: 'same' }))
    const two = await enqueue(engine, 'two')
    await engine.start()
    await isBlocked(engine, two)
    const resolve = (more = {}) => commit((tx) => engine.transfers.resolve(tx, two, { remoteId: 'same', ...more }))
    await expect(resolve()).rejects.toMatchObject({
      code: 'conflict',
      field: 'remoteId',
      message: expect.stringContaining(wrong),
    })
    await expect(resolve({ insteadOf: '01J0000000000000000000000Z' })).rejects.toMatchObject({ code: 'conflict' })
    await resolve({ insteadOf: wrong, actor: 'ann' })
    expect(await engine.transfers.get(two)).toMatchObject({ stage: 'submitted', remoteId: 'same', reason: null })
    expect(await engine.transfers.get(wrong)).toMatchObject({
      stage: 'blocked',
      remoteId: null,
      reason: 'remote_id_taken',
    })
    expect(await eventsOf(wrong)).toEqual(['transfer.enqueued', 'transfer.submitted', 'transfer.blocked'])
    await commit((tx) => engine.transfers.release(tx, wrong))
    await isSent(engine, wrong)
    expect(await restored.doubled()).toEqual([])
  })

  it('that a transfer loses after its end leaves it ended and unconfirmed: it is not said to be blocked', async () => {
    const engine = make(confused(['two']))
    const [wrong] = await adopt({
      stage: 'settled',
      status: 'complete',
      events: ['transfer.adopted', 'transfer.completed'],
    })
    const two = await enqueue(engine, 'two')
    const received: unknown[] = []
    engine.subscribe('books', ['transfer.blocked', 'transfer.unconfirmed'], async ({ type, transfer }) => {
      const { id, stage, status, remoteId, reason } = transfer
      received.push({ type, id, stage, status, remoteId, reason })
    })
    await engine.start()
    await isBlocked(engine, two)
    await commit((tx) => engine.transfers.resolve(tx, two, { remoteId: 'same', insteadOf: wrong.id }))
    await waitUntil(() => received.length >= 2)
    expect(received.slice(1)).toEqual([
      {
        ...{ type: 'transfer.unconfirmed', id: wrong.id, stage: 'settled', status: 'complete' },
        ...{ remoteId: null, reason: 'remote_id_taken' },
      },
    ])
    expect(await rows('select 1 from outlay.stuck_transfers where id = $1', [wrong.id])).toEqual([])
  })

  it('of what cannot be stored keeps nothing else from being adopted, and is named', async () => {
    const warnings: unknown[] = []
    const engine = make(listingGateway(), { warn: (fields) => warnings.push(fields) })
    const rest = ['good', 'better'].map((id, index) => [
      id,
      found(`adopted ${id}`, { id: `01J000000000000000000000${index}Q` }),
    ])
    const bad = [
      ['a-time', found('adopted a-time', { id: '01J0000000000000000000003Q', reached_at: 'no time' })],
      ['nothing', {}],
      ['a-stage', found('adopted a-stage', { id: '01J0000000000000000000004Q', stage: 'lost' })],
      ['no-object', []],
    ]
    const all = Object.fromEntries([...bad, ...rest])
    await rows(
      `insert into outlay.found_transfer (account_id, remote_id, automated, transfer)
       select 'acme', f.key, false, f.value from jsonb_each($1::jsonb) f`,
      [JSON.stringify(all)],
    )
    await engine.start()
    await waitUntil(
      async () => (await rows(`select 1 from outlay.transfer where idempotency_key like 'adopted %'`)).length === 2,
    )
    await waitUntil(() => warnings.length >= bad.length)
    const named = warnings.map((one) => (one as { remoteId: string }).remoteId)
    expect(named.toSorted()).toEqual(['a-stage', 'a-time', 'no-object', 'nothing'])
    expect(await rows('select remote_id from outlay.found_transfer where problem is not null order by 1')).toHaveLength(
      4,
    )
    // A later observation of it may be complete.
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const again = [
      {
        remote_id: 'a-time',
        automated: false,
        created_at: new Date(),
        transfer: { ...all['a-time'], reached_at: null },
      },
    ]
    await rows(`select outlay.record_found_transfers('acme', $1::jsonb)`, [JSON.stringify(again)])
    await waitUntil(async () => (await rows(`select 1 from outlay.transfer where remote_id = 'a-time'`)).length === 1)
    expect(warnings).toHaveLength(bad.length)
  })
})
