import { silentLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { refusal, refusingGateway } from '../../test/refusing-gateway.ts'
import { postgres } from '../backend.ts'

describe('a batch that is canceled while another gateway takes over what is in it', async () => {
  const { begin, driver, rows, commit, open, enqueue, forgetRequests } = await testHost()
  const backend = postgres({ driver })
  const make = (submit = async () => refusal, on: Partial<typeof backend> = {}) => {
    const second = refusingGateway(false)
    const engine = open({
      ...{ gateways: { default: { ...refusingGateway(), submit }, second }, route: () => 'default', fraction: 0.001 },
      failover: ({ gateway }) => (gateway === 'default' ? 'second' : undefined),
      ...{ logger: silentLogger, backend: { ...backend, ...on } },
    })
    return { engine, second }
  }
  const count = async (text: string) => (await rows(text)).length
  const waits = () =>
    count(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  const isHandled = async () => (await count('select from outlay.delivery')) === 0
  /** The reasons of the failures that handlers get. */
  const failures = async (id: string) =>
    (
      await rows(
        `select reason from outlay.event where transfer_id = $1 and type = 'transfer.failed' order by sequence`,
        [id],
      )
    ).map(({ reason }) => reason)
  const deliverAgain = async () => {
    await forgetRequests()
    await rows('update outlay.delivery set due_at = now(), ready = true')
  }

  /** A batch with one transfer that was refused and is handed over once no request of it can arrive any more. */
  const refused = async (engine: ReturnType<typeof open>) => {
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    const { id } = await enqueue(engine, { batchId })
    await rows(`insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 0, 'dead', now())`, [
      id,
    ])
    await engine.start()
    await waitUntil(async () => (await count('select from outlay.delivery where failures > 0')) === 1)
    return { batchId, id }
  }

  it('gets no successor from a handler that began before the cancel was committed', async () => {
    const { engine, second } = make()
    const { batchId, id } = await refused(engine)
    const host = await begin()
    expect(await engine.batches.cancel(host, batchId)).toEqual({ canceled: 0, unended: 0 })
    await deliverAgain()
    await waitUntil(async () => (await waits()) > 0)
    await host.query('commit')
    await waitUntil(isHandled)
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'failed', reason: null })
    expect(await engine.batches.get(batchId)).toMatchObject({ counts: { total: 1, failed: 1, unended: 0 } })
    expect(second.requests).toEqual([])
  })

  it('cancels the successor that a handler is enqueueing at that moment', async () => {
    const [entered, leave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { engine, second } = make(undefined, {
      async recordAudit(tx, entry) {
        if (entry.command === 'transfers.resubmit') {
          entered.resolve()
          await leave.promise
        }
        await backend.recordAudit(tx, entry)
      },
    })
    const { batchId, id } = await refused(engine)
    // So that no worker sends the successor first.
    await commit((tx) => engine.batches.pause(tx, batchId))
    await deliverAgain()
    await entered.promise
    const host = await begin()
    const canceled = engine.batches.cancel(host, batchId)
    await waitUntil(async () => (await waits()) > 0)
    leave.resolve()
    expect(await canceled).toEqual({ canceled: 1, unended: 0 })
    await host.query('commit')
    const { resubmittedAs = '' } = (await engine.transfers.get(id)) ?? {}
    expect(await engine.transfers.get(resubmittedAs)).toMatchObject({ batchId, status: 'canceled' })
    expect(second.requests).toEqual([])
  })

  it.each([
    ['before its refusal is written', {}, [null]],
    [
      'after that was asked, and before its refusal is written',
      { isBatchCanceled: async (batchId, tx) => tx !== undefined && backend.isBatchCanceled(batchId, tx) },
      ['failover', null],
    ],
  ] satisfies [string, Partial<typeof backend>, (string | null)[]][])(
    'gets no successor of what was under way, where the cancel is committed %s',
    async (_, on, reasons) => {
      const [entered, leave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const refuseLate = async () => {
        entered.resolve()
        await leave.promise
        return refusal
      }
      const { engine, second } = make(refuseLate, on)
      const { id: batchId } = await commit((tx) => engine.batches.create(tx))
      const { id } = await enqueue(engine, { batchId })
      await engine.start()
      await entered.promise
      expect(await commit((tx) => engine.batches.cancel(tx, batchId))).toEqual({ canceled: 0, unended: 1 })
      leave.resolve()
      await reach(engine, id, { stage: 'settled', status: 'failed', reason: null })
      await waitUntil(async () => (await engine.batches.get(batchId))?.state === 'completed')
      await waitUntil(isHandled)
      expect((await engine.transfers.get(id))?.resubmittedAs).toBeUndefined()
      expect([await failures(id), second.requests]).toEqual([reasons, []])
    },
  )

  it('gets no successor, and a last event, where the refusal comes while the batch moves with its account', async () => {
    const [entered, leave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const refuseLate = async () => {
      entered.resolve()
      await leave.promise
      return refusal
    }
    const { engine, second } = make(refuseLate)
    const { id: batchId } = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    const { id } = await enqueue(engine, { batchId })
    await engine.start()
    await entered.promise
    await commit((tx) => engine.batches.cancel(tx, batchId))
    await rows(`select outlay.move_depart('acme', 'west', 1, 'ann', 'test')`)
    await rows(`select outlay.move_pack_rest('acme', 1, 'first', 100)`)
    leave.resolve()
    await waitUntil(async () => (await count('select from outlay.delivery where failures > 0')) === 1)
    expect([await failures(id), second.requests]).toEqual([['failover'], []])
    // The move goes back.
    await rows(`select outlay.move_back('acme', 'west', 1, true)`)
    await waitUntil(async () => (await rows(`select outlay.move_unpack('acme', 1, 'returning', 100) as n`))[0]?.n === 0)
    await rows(`select outlay.move_end('acme', 1, 'returning', 'here')`)
    await deliverAgain()
    await reach(engine, id, { status: 'failed', reason: null })
    await waitUntil(isHandled)
    expect([await failures(id), second.requests]).toEqual([['failover', null], []])
  })

  it('fails a cancel whose snapshot is older than a hand-over', async () => {
    const { engine, second } = make()
    const { batchId, id } = await refused(engine)
    // So that no worker sends the successor first.
    await commit((tx) => engine.batches.pause(tx, batchId))
    const host = await begin('repeatable read')
    await host.query('select from outlay.transfer')
    await deliverAgain()
    const next = await waitUntil(async () => (await engine.transfers.get(id))?.resubmittedAs)
    await expect(engine.batches.cancel(host, batchId)).rejects.toMatchObject({ code: '40001' })
    await host.query('rollback')
    expect(await commit((tx) => engine.batches.cancel(tx, batchId))).toMatchObject({ canceled: 1 })
    expect(await engine.transfers.get(next)).toMatchObject({ batchId, status: 'canceled' })
    expect([await failures(id), second.requests]).toEqual([['failover'], []])
  })

  it('waits for a resubmission in repeatable read, and cancels what that has enqueued', async () => {
    const { engine } = make()
    const { batchId, id } = await refused(engine)
    await engine.stop()
    await forgetRequests()
    const [recorded, leave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { engine: other } = make(undefined, {
      async recordResubmission(...call) {
        const place = await backend.recordResubmission(...call)
        recorded.resolve()
        await leave.promise
        return place
      },
    })
    const host = await begin('repeatable read')
    const resubmitted = other.transfers.resubmit(host, id)
    await recorded.promise
    const canceled = commit((tx) => engine.batches.cancel(tx, batchId))
    await waitUntil(async () => (await waits()) > 0)
    leave.resolve()
    const { id: next } = await resubmitted
    await host.query('commit')
    expect(await canceled).toEqual({ canceled: 1, unended: 0 })
    expect(await engine.transfers.get(next)).toMatchObject({ batchId, status: 'canceled' })
  })

  it('is handed over all the same where the batch is closed alone', async () => {
    const { engine } = make()
    const { batchId, id } = await refused(engine)
    await commit((tx) => engine.batches.close(tx, batchId))
    await deliverAgain()
    const next = await waitUntil(async () => (await engine.transfers.get(id))?.resubmittedAs)
    await reach(engine, next, { stage: 'submitted', batchId })
  })
})
