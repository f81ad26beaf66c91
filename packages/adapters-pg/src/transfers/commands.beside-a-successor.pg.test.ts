import { OutlayError } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { loseJobs } from '../../test/queue.ts'
import { postgres } from '../backend.ts'

/** A transfer that its gateway has refused, and its batch. */
interface Refused {
  readonly id: string
  readonly batchId: string
}

type Command = (engine: HostEngine, tx: PoolClient, refused: Refused) => Promise<unknown>

const note = { actor: 'olga', reason: 'it is odd' }

const commands: Readonly<Record<string, Command>> = {
  'batches.cancel': ({ batches }, tx, { batchId }) => batches.cancel(tx, batchId),
  'batches.cancel of a person': ({ batches }, tx, { batchId }) => batches.cancel(tx, batchId, note),
  'batches.close': ({ batches }, tx, { batchId }) => batches.close(tx, batchId),
  'batches.pause': ({ batches }, tx, { batchId }) => batches.pause(tx, batchId),
  'batches.resume': ({ batches }, tx, { batchId }) => batches.resume(tx, batchId),
  'batches.approve': ({ batches }, tx, { batchId }) => batches.approve(tx, batchId, note),
  'transfers.cancel': ({ transfers }, tx, { id }) => transfers.cancel(tx, id),
  'transfers.release': ({ transfers }, tx, { id }) => transfers.release(tx, id),
  'transfers.hold': ({ transfers }, tx, { id }) => transfers.hold(tx, id, note),
  'transfers.reject': ({ transfers }, tx, { id }) => transfers.reject(tx, id, note),
  'transfers.approve': ({ transfers }, tx, { id }) => transfers.approve(tx, id, note),
  'transfers.resolve': ({ transfers }, tx, { id }) => transfers.resolve(tx, id, { notPaid: true, ...note }),
  'transfers.resubmit': ({ transfers }, tx, { id }) => transfers.resubmit(tx, id),
  'transfers.resubmit elsewhere': ({ transfers }, tx, { id }) => transfers.resubmit(tx, id, { gateway: 'second' }),
  'accounts.pause': ({ accounts }, tx) => accounts.pause(tx, 'acme'),
  'accounts.resume': ({ accounts }, tx) => accounts.resume(tx, 'acme'),
}

/** Who has enqueued the successor, and with which reason the transfer had failed. */
const others = {
  'a hand-over to another gateway': { reason: 'failover', options: { gateway: 'second' } },
  'a resubmission by hand': { reason: null, options: {} },
} as const

const cases = (['repeatable read', 'serializable'] as const).flatMap((isolation) =>
  Object.keys(others).flatMap((other) =>
    Object.keys(commands).map((command) => [command, isolation, other as keyof typeof others] as const),
  ),
)

describe('a command in a snapshot that is older than a successor', async () => {
  const { pool, driver, open, begin, commit, rows, enqueue } = await testHost()
  const backend = postgres({ driver })
  const make = () =>
    open({ gateways: { default: memoryGateway(), second: memoryGateway() }, route: () => 'default', backend })

  /** A transfer of a batch that was refused, beside one that waits. */
  const refuse = async (engine: HostEngine, reason: string | null): Promise<Refused> => {
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    const { id } = await enqueue(engine, { batchId })
    await loseJobs(pool)
    await rows(`select * from outlay.fetch_and_claim(10, 'worker', '', null)`)
    const failure = { type: 'rejected', code: 'limit_reached', detail: 'no more today', retriable: false }
    const answer = { outcome: 'rejected', http_status: 422, stage: 'settled', status: 'failed', reason, failure }
    await rows(
      `select outlay.settle(jsonb_build_array($1::jsonb || jsonb_build_object('job', outlay.job_id($2))), 2)`,
      [JSON.stringify({ id, attempt: 1, events: ['transfer.failed'], ...answer }), id],
    )
    await enqueue(engine, { batchId })
    return { id, batchId }
  }

  /** What hands a transfer over, which nobody does in a canceled batch. */
  const succeed = (engine: HostEngine, { id, batchId }: Refused, { options }: (typeof others)[keyof typeof others]) =>
    commit(async (tx) => {
      if ('gateway' in options && (await backend.isBatchCanceled(batchId, tx))) throw new Error('It was canceled.')
      return engine.transfers.resubmit(tx, id, options)
    })

  it.each(cases)('%s in %s, beside %s, fails or does what is right', async (name, isolation, by) => {
    const engine = make()
    const other = others[by]
    const refused = await refuse(engine, other.reason)
    const host = await begin(isolation)
    await host.query('select from outlay.transfer')
    const { id: successorId } = await succeed(engine, refused, other)
    const error: unknown = await commands[name]?.(engine, host, refused).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    await host.query(error === undefined ? 'commit' : 'rollback')
    // A concurrent change, or a refusal that says why.
    if (error !== undefined && !OutlayError.is(error)) expect(error).toMatchObject({ code: '40001' })
    expect(await rows('select transfer_id, successor_id from outlay.resubmission')).toEqual([
      { transfer_id: refused.id, successor_id: successorId },
    ])
    const ends = `select type from outlay.event where transfer_id = $1 and type in ('transfer.failed', 'transfer.canceled')`
    expect(await rows(ends, [refused.id])).toEqual([{ type: 'transfer.failed' }])
    expect(await engine.transfers.get(refused.id)).toMatchObject({ status: 'failed', reason: other.reason })
    expect(await rows(`select from outlay.transfer`)).toHaveLength(3)
    // A batch that was canceled sends nothing any more.
    const sent = await rows(
      `select t.id from outlay.transfer t join outlay.batch b on b.id = t.batch_id where b.canceled_at is not null and t.status <> 'canceled'
       and t.id <> $1`,
      [refused.id],
    )
    expect(sent).toEqual([])
  })

  it.each(Object.keys(others) as (keyof typeof others)[])(
    'a cancel of its batch that waits for %s fails',
    async (by) => {
      const engine = make()
      const other = others[by]
      const refused = await refuse(engine, other.reason)
      const handler = await begin()
      await backend.isBatchCanceled(refused.batchId, handler)
      await engine.transfers.resubmit(handler, refused.id, other.options)
      const host = await begin('repeatable read')
      await host.query('select from outlay.transfer')
      const canceling = engine.batches.cancel(host, refused.batchId).catch((error: unknown) => error)
      await handler.query('commit')
      expect(await canceling).toMatchObject({ code: '40001' })
    },
  )

  it('the end of a fail-over fails', async () => {
    const engine = make()
    const refused = await refuse(engine, 'failover')
    const host = await begin('repeatable read')
    await host.query('select from outlay.transfer')
    await succeed(engine, refused, others['a hand-over to another gateway'])
    await expect(backend.endFailover(host, refused.id, 'failover_late')).rejects.toMatchObject({ code: '40001' })
  })
})
