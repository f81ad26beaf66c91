import type { Resolution } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { countJobs } from '../../test/queue.ts'
import { slowWorker } from '../../test/slow-worker.ts'

const note = { actor: 'olga', reason: 'it is odd' }

describe('a held transfer whose money may have moved', async () => {
  const { pool, open, commit, rows, enqueue, forgetRequests } = await testHost()
  const slow = slowWorker(() => pool)
  const engine = open()
  const resolve = (id: string, resolution: Resolution) =>
    commit((tx) => engine.transfers.resolve(tx, id, { ...note, ...resolution }))

  /** A held transfer, of which a database before a restore had sent a request. */
  async function makeDoubtful(): Promise<string> {
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.hold(tx, id, note))
    const at = new Date().toISOString()
    const unknown = { outcome: 'unknown', stage: 'queued', reason: 'outcome_unknown', retry_ms: 1000, detail: 'reset' }
    await slow.settle(id, 1, { ...unknown, unknown_since: at, claimed_at: at })
    expect(await rows('select stage, outlay.effect_of(t) as effect from outlay.transfer t')).toEqual([
      { stage: 'held', effect: 'unknown' },
    ])
    return id
  }
  const expectNothingHeld = async () => {
    expect(await rows('select from outlay.hold')).toEqual([])
    expect(await countJobs(pool)).toBe(0)
  }

  it('is resolved with the id that the service has, and is held by nothing any more', async () => {
    const id = await makeDoubtful()
    await resolve(id, { remoteId: 'remote-1' })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
    await expectNothingHeld()
    await expect(commit((tx) => engine.transfers.release(tx, id, note))).resolves.toBe(false)
  })

  it('is resolved as not paid, once its request cannot arrive any more', async () => {
    const id = await makeDoubtful()
    await expect(resolve(id, { notPaid: true })).rejects.toMatchObject({ code: 'conflict', field: 'notPaid' })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
    await forgetRequests()
    await resolve(id, { notPaid: true })
    expect(await engine.transfers.get(id)).toMatchObject({
      ...{ stage: 'settled', status: 'failed' },
      failure: { type: 'not_paid' },
    })
    await expectNothingHeld()
    expect(await commit((tx) => engine.transfers.resubmit(tx, id, { createdBy: 'rosa' }))).toMatchObject({
      stage: 'queued',
    })
  })

  it('is not resolved where nothing of it can be at the service', async () => {
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.hold(tx, id, note))
    for (const resolution of [{ remoteId: 'remote-1' }, { notPaid: true }] as const) {
      await expect(resolve(id, resolution)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('is held and pending; only a blocked one'),
      })
    }
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', remoteId: null })
  })
})
