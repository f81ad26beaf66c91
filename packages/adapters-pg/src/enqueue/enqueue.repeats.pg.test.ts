import { type EnqueueRequest, Id, OutlayError, type Policy } from '@outlay/core'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { chunkSize } from './enqueue-chunks.ts'

/** Payouts that are marked are held until somebody approves them. */
const marked: Policy = { name: 'marked', when: { metadata: { check: 'yes' } }, approvals: [{}] }
const note = { actor: 'petra', reason: 'as the board decided' }

describe('a call that has a key or an id twice', async () => {
  const { open, commit, rows } = await testHost()
  const engine = open()
  const refuse = (tx: PoolClient, requests: readonly EnqueueRequest[]) =>
    engine.transfers.enqueueMany(tx, requests).then(
      () => [],
      (error: unknown) => (OutlayError.is(error) ? error.issues : [error]),
    )
  const held = { metadata: { check: 'yes' }, createdBy: 'carl' }
  const changed = { amount: { value: '1.00', currency: 'USD' } }
  const counts = () =>
    rows(`select (select count(*)::integer from outlay.transfer) as transfers, (select count(*)::integer from outlay.outbox) as jobs,
      (select count(*)::integer from outlay.hold) as holds`)

  it.each([
    ['without policies', false],
    ['with policies', true],
  ])('refuses an id for two transfers and names both, %s', async (_, hasPolicies) => {
    if (hasPolicies) await commit((tx) => engine.policies.set(tx, [marked], note))
    const id = Id.lowest(new Date())
    const other = samplePayout('other', { id, idempotencyKey: 'b', ...held })
    const filler = Array.from({ length: chunkSize }, () => samplePayout('acme'))
    await commit(async (tx) => {
      for (const requests of [
        [samplePayout('acme', { id, idempotencyKey: 'a' }), other],
        [samplePayout('acme', { id, idempotencyKey: 'a', ...held }), samplePayout('acme', { id, idempotencyKey: 'b' })],
        [samplePayout('acme', { id, idempotencyKey: 'a' }), ...filler, other],
      ]) {
        const last = requests.length - 1
        expect(await refuse(tx, requests)).toEqual([
          {
            field: `${last}.id`,
            code: 'conflict',
            message: expect.stringContaining(`The requests 0 and ${last} have the same id ${id}`),
          },
        ])
      }
    })
    expect(await counts()).toEqual([{ transfers: 0, jobs: 0, holds: 0 }])
  })

  it('writes a repeat of the same request once, with its id or without', async () => {
    const id = Id.lowest(new Date())
    const known = samplePayout('acme', { idempotencyKey: 'k' })
    const withId = samplePayout('acme', { id })
    const requests = [
      known,
      withId,
      known,
      samplePayout('acme', { idempotencyKey: 'l' }),
      withId,
      { ...known, id: Id.lowest(new Date(0)) },
    ]
    const written = await commit((tx) => engine.transfers.enqueueMany(tx, requests))
    expect(written.map(({ reused }) => reused)).toEqual([false, false, true, false, true, true])
    expect([written[2], written[4], written[5]].map((one) => one?.id)).toEqual([written[0]?.id, id, written[0]?.id])
    expect(await counts()).toEqual([{ transfers: 3, jobs: 3, holds: 0 }])
    const again = await commit((tx) => engine.transfers.enqueueMany(tx, requests))
    expect(again.map((one) => [one.id, one.reused])).toEqual(written.map((one) => [one.id, true]))
  })

  it('refuses a key for two requests and names both, also where one of them is stored', async () => {
    const known = samplePayout('acme', { idempotencyKey: 'k' })
    const issue = {
      field: '2.idempotencyKey',
      code: 'idempotency_key_mismatch',
      message: expect.stringContaining('The requests 0 and 2 have the same key'),
    }
    await commit(async (tx) => {
      expect(await refuse(tx, [known, samplePayout('acme'), { ...known, ...changed }])).toEqual([issue])
      await engine.transfers.enqueue(tx, known)
      expect(await refuse(tx, [known, samplePayout('acme'), { ...known, ...changed }])).toEqual([issue])
      // The key of another account is another key.
      await engine.transfers.enqueueMany(tx, [known, samplePayout('other', { idempotencyKey: 'k', ...changed })])
    })
    expect(await counts()).toEqual([{ transfers: 2, jobs: 2, holds: 0 }])
  })

  it.each([
    ['held', held, {}],
    ['not held', {}, held],
  ])('holds what the first one is: %s', async (_, first, second) => {
    await commit((tx) => engine.policies.set(tx, [marked], note))
    const id = Id.lowest(new Date())
    const requests = [samplePayout('acme', { id, ...first }), samplePayout('acme', { id, ...second })]
    const [written, repeat] = await commit((tx) => engine.transfers.enqueueMany(tx, requests))
    const isHeld = 'metadata' in first
    expect(written).toMatchObject({ id, stage: isHeld ? 'held' : 'queued', reused: false })
    expect(repeat).toEqual({ ...written, reused: true })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: isHeld ? 'held' : 'queued' })
    expect(await counts()).toEqual([{ transfers: 1, jobs: isHeld ? 0 : 1, holds: isHeld ? 1 : 0 }])
  })

  it('is refused where an earlier release writes it, and nothing is half held', async () => {
    await commit((tx) => engine.policies.set(tx, [marked], note))
    const id = Id.lowest(new Date())
    const [{ tag }] = (await rows('select tag from outlay.policy_state')) as [{ tag: string }]
    const beside = [
      { policies: tag },
      { policies: tag, holds: [{ name: 'approval', policy: 'marked', why: 'marked' }] },
    ]
    const written = await rows(
      `select * from outlay.enqueue_many_with(array[$1, $1]::text[], array(select outlay.job_id($1) from generate_series(1, 2)), array['acme', 'acme'],
        array[$1, $1]::text[], array['f', 'f'], array['{}', '{}'], false, array['', ''], array['', ''], array['', ''], array['default', 'default'], $2)`,
      [id, beside.map((one) => JSON.stringify(one))],
    )
    expect(written.filter((row) => row.at !== null)).toEqual([])
    expect(await counts()).toEqual([{ transfers: 0, jobs: 0, holds: 0 }])
  })

  it('writes nothing where the id is that of another account, or of another request', async () => {
    const id = Id.lowest(new Date())
    await commit((tx) => engine.transfers.enqueue(tx, samplePayout('other', { id, idempotencyKey: 'k' })))
    const before = await rows('select * from outlay.transfer')
    await commit((tx) => engine.policies.set(tx, [marked], note))
    await commit(async (tx) => {
      for (const request of [
        samplePayout('acme', { id }),
        samplePayout('other', { id, idempotencyKey: 'l', ...held }),
      ]) {
        await expect(engine.transfers.enqueue(tx, request)).rejects.toMatchObject({ code: 'conflict', field: 'id' })
        expect(await refuse(tx, [samplePayout('acme'), request])).toMatchObject([{ code: 'conflict', field: '1.id' }])
      }
    })
    expect(await rows('select * from outlay.transfer')).toEqual(before)
    expect(await counts()).toEqual([{ transfers: 1, jobs: 1, holds: 0 }])
  })

  it('is as one after the other where two calls of a transaction share keys', async () => {
    const requests = Array.from({ length: 5 }, (_, n) => samplePayout('acme', { idempotencyKey: `k-${n}` }))
    const [first, second] = await commit(async (tx) => {
      const one = await engine.transfers.enqueueMany(tx, requests.slice(0, 3))
      return [one, await engine.transfers.enqueueMany(tx, [...requests].reverse())]
    })
    expect(second?.map(({ reused }) => reused)).toEqual([false, false, true, true, true])
    expect(second?.slice(2).map(({ id }) => id)).toEqual(first?.map(({ id }) => id).reverse())
    expect(await counts()).toEqual([{ transfers: 5, jobs: 5, holds: 0 }])
  })

  it('is gone with a savepoint of the host, in chunks too, and may be written again', async () => {
    await commit((tx) => engine.policies.set(tx, [marked], note))
    const requests = Array.from({ length: chunkSize + 1 }, (_, n) =>
      samplePayout('acme', { idempotencyKey: `k-${n}`, ...(n < 2 ? held : {}) }),
    )
    await commit(async (tx) => {
      await tx.query('savepoint mine')
      await engine.transfers.enqueueMany(tx, requests)
      await tx.query('rollback to savepoint mine')
      const again = await engine.transfers.enqueueMany(tx, requests.slice(0, 5))
      expect(again.every(({ reused }) => !reused)).toBe(true)
    })
    expect(await counts()).toEqual([{ transfers: 5, jobs: 3, holds: 2 }])
  })
})
