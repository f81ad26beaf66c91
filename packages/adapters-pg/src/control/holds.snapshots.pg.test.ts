import type { Policy } from '@outlay/core'
import type { PoolClient } from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'

const note = { actor: 'olga', reason: 'it is odd' }
const snapshots = ['repeatable read', 'serializable']

describe('a held transfer in a transaction with a snapshot', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const begun: PoolClient[] = []
  afterEach(async () => {
    for (const tx of begun.splice(0)) {
      await tx.query('rollback')
      tx.release()
    }
  })
  const begin = async (isolation: string) => {
    const tx = await pool.connect()
    begun.push(tx)
    await tx.query(`begin isolation level ${isolation}`)
    await tx.query('select from outlay.transfer')
    return tx
  }
  const enqueueHeld = async (engine: HostEngine, policy: Omit<Policy, 'name'>) => {
    await commit((tx) => engine.policies.set(tx, [{ name: 'odd', ...policy }], note))
    return (await enqueue(engine, { createdBy: 'carl' })).id
  }
  const approve = (engine: HostEngine, id: string, actor: string) =>
    commit((tx) => engine.transfers.approve(tx, id, { actor }))
  const code = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: { code?: string; cause?: { code?: string } }) => error.cause?.code ?? error.code,
    )

  it.each(snapshots)('is not released past the hold of an operator, in %s', async (isolation) => {
    const engine = open()
    const approved = await enqueueHeld(engine, { approvals: [{}] })
    const released = await enqueueHeld(engine, { hold: 'night' })
    for (const id of [approved, released]) {
      const host = await begin(isolation)
      expect(await commit((tx) => engine.transfers.hold(tx, id, note))).toBe(true)
      const work =
        id === approved
          ? engine.transfers.approve(host, id, { actor: 'anna' })
          : engine.transfers.release(host, id, { ...note, hold: 'limit', policy: 'odd' })
      expect(await code(work)).toBe('40001')
      expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
    }
  })

  it.each(snapshots)('does not count one person twice, nor wait for ever, in %s', async (isolation) => {
    const engine = open()
    const id = await enqueueHeld(engine, { approvals: [{ count: 2 }] })
    const host = await begin(isolation)
    await approve(engine, id, 'anna')
    expect(await code(engine.transfers.approve(host, id, { actor: 'ANNA' }))).toBe('40001')
    expect(await rows('select actor from outlay.approval')).toEqual([{ actor: 'anna' }])
    expect(await approve(engine, id, 'bert')).toMatchObject({ released: true })
  })

  it('is released by the next approval where nothing is missing any more', async () => {
    const engine = open()
    const id = await enqueueHeld(engine, { approvals: [{ count: 2 }] })
    await pool.query(
      `insert into outlay.approval (transfer_id, actor, roles) values ($1, 'anna', '{}'), ($1, 'bert', '{}')`,
      [id],
    )
    expect(await engine.transfers.holds(id)).toMatchObject({ missing: [] })
    expect(await code(approve(engine, id, 'Carl'))).toBe('approval_refused')
    expect(await approve(engine, id, 'ANNA')).toEqual({ released: true, holds: [], missing: [] })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued' })
    expect(await rows('select actor from outlay.approval order by actor')).toEqual([
      { actor: 'anna' },
      { actor: 'bert' },
    ])
  })
})
