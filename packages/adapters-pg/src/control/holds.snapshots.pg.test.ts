import type { Policy } from '@outlay/core'
import type { PoolClient } from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'

const note = { actor: 'olga', reason: 'it is odd' }
const snapshots = ['repeatable read', 'serializable']

describe('a held transfer in a transaction with a snapshot', async () => {
  const { pool, open, commit, enqueue } = await testHost()
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
          : engine.transfers.release(host, id, note)
      expect(await code(work)).toBe('40001')
      expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
    }
  })
})
