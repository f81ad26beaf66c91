import type { Gateway, SubmitResult } from '@outlay/core'
import { drain, memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('a stop', async () => {
  const { pool, open, commit } = await testHost()

  function make(gateway: Gateway) {
    const engine = open({ gateway, logger: recordingLogger() })
    const enqueue = (accountId: string) => commit((tx) => engine.transfers.enqueue(tx, samplePayout(accountId)))
    return { engine, enqueue }
  }
  const outcomes = async (id: string) =>
    (await pool.query('select outcome from outlay.attempt where transfer_id = $1 order by attempt', [id])).rows.map(
      (row) => row.outcome,
    )

  /** A gateway that delays every request, as one that waits for its turn, and asks before it sends. */
  function hesitating() {
    const inner = memoryGateway()
    const asked: (() => boolean)[] = []
    let go = () => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    const gateway: Gateway = {
      ...inner,
      async submit(submission, options): Promise<SubmitResult> {
        asked.push(() => options.mayBegin?.() ?? true)
        await gone
        if (options.mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
        return inner.submit(submission, options)
      },
    }
    return { gateway, inner, asked, go }
  }

  it.each<[string, object]>([
    ['says that the first may have acted', { mayHaveActed: true }],
    ['returns the answer to the first, whose key is in flight', { httpStatus: 409 }],
  ])('between two requests of one attempt leaves the first one in doubt, when the gateway %s', async (_, marks) => {
    let may: (() => boolean) | undefined
    let go = () => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    const { engine, enqueue } = make({
      ...memoryGateway(),
      async submit(_, { mayBegin }): Promise<SubmitResult> {
        may = mayBegin
        await gone
        const stopped = mayBegin?.() === false
        return { outcome: 'throttled', detail: 'not sent a second time', ...(stopped ? marks : {}) }
      },
    })
    await engine.start()
    const { id } = await enqueue('acme')
    await waitUntil(() => may?.() === true)
    await commit((tx) => engine.stops.add(tx, { scope: 'all' }))
    await waitUntil(() => may?.() === false)
    go()
    await reach(engine, id, { stage: 'queued' })
    const { rows } = await pool.query('select unknown_since from outlay.transfer where id = $1', [id])
    expect(rows).toEqual([{ unknown_since: expect.any(Date) }])
  })

  it('of everything lets no request begin, puts back what was claimed as it was, and survives a restart', async () => {
    const { gateway, inner, asked, go } = hesitating()
    const { engine, enqueue } = make(gateway)
    await engine.start()
    const claimed = await enqueue('acme')
    await waitUntil(() => asked.length === 1)
    await commit((tx) => engine.stops.add(tx, { scope: 'all', reason: 'a drill', actor: 'ann' }))
    const waiting = await enqueue('other')
    await waitUntil(() => asked[0]?.() === false)
    go()
    await reach(engine, claimed.id, { stage: 'queued' })
    expect(await engine.transfers.get(claimed.id)).toMatchObject({ reason: null, remoteId: null, attempt: 1 })
    expect(await outcomes(claimed.id)).toEqual(['stopped'])
    const { rows } = await pool.query('select unknown_since from outlay.transfer where id = $1', [claimed.id])
    expect(rows).toEqual([{ unknown_since: null }])
    await engine.stop()

    const again = make(inner)
    await again.engine.start()
    expect(await again.engine.stops.list()).toMatchObject([
      { scope: 'all', name: null, reason: 'a drill', actor: 'ann' },
    ])
    await waitForCheck()
    expect(inner.submissions).toEqual([])
    expect(await commit((tx) => again.engine.stops.end(tx, { scope: 'all' }))).toBe(true)
    await drain(again.engine)
    expect(inner.submissions.map(({ transferId }) => transferId).toSorted()).toEqual(
      [claimed.id, waiting.id].toSorted(),
    )
  })

  /** Waits until a worker has written that it saw the database once more: it has polled for work many times since. */
  async function waitForCheck() {
    const read = async () => (await pool.query('select seen_at::text as at from outlay.known_database')).rows[0]?.at
    const before = await read()
    await waitUntil(async () => (await read()) !== before, { timeoutMs: 60_000 })
  }

  it('of one account leaves the others alone, and ends with its row', async () => {
    const gateway = memoryGateway()
    const { engine, enqueue } = make(gateway)
    // A host may write the row itself, in a transaction of its own.
    await pool.query(`insert into outlay.stop (scope, name, reason) values ('account', 'acme', 'asked by the bank')`)
    await engine.start()
    const held = await enqueue('acme')
    const other = await enqueue('other')
    await reach(engine, other.id, { stage: 'settled' })
    await reach(engine, held.id, { reason: 'account_paused' })
    expect(gateway.submissions.map(({ accountId }) => accountId)).toEqual(['other'])
    await pool.query('delete from outlay.stop')
    await drain(engine)
    expect(gateway.submissions.map(({ accountId }) => accountId)).toEqual(['other', 'acme'])
  })

  it('finishes submissions under way and goes on reading statuses', async () => {
    const gateway = memoryGateway({ status: 'processing' })
    let answer = () => {}
    const held = new Promise<void>((resolve) => (answer = resolve))
    gateway.scriptAfter(async () => {
      await held
      return undefined
    })
    const { engine, enqueue } = make(gateway)
    await engine.start()
    const { id } = await enqueue('acme')
    await waitUntil(() => gateway.submissions.length === 1)
    await commit((tx) => engine.stops.add(tx, { scope: 'gateway', name: 'default' }))
    answer()
    const submitted = await waitUntil(async () => {
      const transfer = await engine.transfers.get(id)
      return transfer?.stage === 'submitted' ? transfer : undefined
    })
    gateway.setStatus(submitted.remoteId ?? '', 'complete')
    await pool.query('update outlay.transfer set next_poll_at = now()')
    await reach(engine, id, { status: 'complete' })
  })

  it('that is not committed, and a fence that is not, make no session wait', async () => {
    const gateway = memoryGateway()
    const { engine, enqueue } = make(gateway)
    await engine.start()
    const host = await pool.connect()
    await host.query('begin')
    await engine.stops.add(host as never, { scope: 'account', name: 'acme' })
    await engine.fence(host as never, { reason: 'a rehearsal' })
    await waitForTurnsBeside()
    const { id } = await enqueue('acme')
    await reach(engine, id, { stage: 'settled' })
    await host.query('rollback')
    host.release()
    expect(await engine.sending()).toMatchObject({ stops: [], fence: null })
  })

  /** A second engine checks the database while the row of what it knows of it is locked. */
  async function waitForTurnsBeside() {
    const { engine } = make(memoryGateway())
    await engine.start()
  }

  it('refuses what it cannot be about, before any SQL', async () => {
    const { engine } = make(memoryGateway())
    const add = (target: never) => engine.stops.add(undefined as never, target)
    await expect(add({ scope: 'gateway', name: 'other' } as never)).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(add({ scope: 'account', name: '' } as never)).rejects.toMatchObject({ code: 'invalid_id' })
    await expect(add({ scope: 'bank' } as never)).rejects.toMatchObject({ code: 'invalid_request', field: 'scope' })
  })
})
