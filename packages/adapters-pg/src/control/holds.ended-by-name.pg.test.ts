import { drain, memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const note = { actor: 'olga', reason: 'the invoice is odd' }
const missing = (field: string) => ({ code: 'missing_field', field, message: expect.stringContaining('is required') })

describe('the end of a transfer that people hold', async () => {
  const { pool, open, commit, enqueue } = await testHost()

  it('needs a name, and so does its resubmission', async () => {
    const gateway = memoryGateway()
    const engine = open({ gateway })
    await engine.start()
    const { id } = await commit(async (tx) => {
      const transfer = await engine.transfers.enqueue(tx, samplePayout('acme'))
      await engine.transfers.hold(tx, transfer.id, note)
      return transfer
    })
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject(missing('actor'))
    await expect(commit((tx) => engine.transfers.cancel(tx, id, { reason: 'x' }))).rejects.toMatchObject(
      missing('actor'),
    )
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
    await commit((tx) => engine.transfers.cancel(tx, id, { actor: 'otto' }))
    await expect(commit((tx) => engine.transfers.resubmit(tx, id))).rejects.toMatchObject(missing('createdBy'))
    const again = await commit((tx) => engine.transfers.resubmit(tx, id, { createdBy: 'rosa' }))
    await drain(engine)
    expect(gateway.submissions.map(({ transferId }) => transferId)).toEqual([again.id])
    expect(await engine.audit.list({ transferId: id })).toMatchObject([
      { command: 'transfers.resubmit', actor: 'rosa' },
      { command: 'transfers.cancel', actor: 'otto' },
      { command: 'transfers.hold', actor: 'olga' },
    ])
  })

  it('needs none where they have released it, or only a policy holds it', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.hold(tx, id, note))
    await commit((tx) => engine.transfers.release(tx, id, note))
    await commit((tx) => engine.transfers.cancel(tx, id))
    expect(await commit((tx) => engine.transfers.resubmit(tx, id))).toMatchObject({ stage: 'queued' })

    await commit((tx) => engine.policies.set(tx, [{ name: 'all', approvals: [{}] }], note))
    const held = await enqueue(engine, { createdBy: 'carl' })
    await commit((tx) => engine.transfers.cancel(tx, held.id))
  })

  it('needs one behind a hold of this moment, and of a second one after a release', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    for (const command of ['hold', 'release'] as const) await commit((tx) => engine.transfers[command](tx, id, note))
    const tx = await pool.connect()
    await tx.query('begin')
    await engine.transfers.hold(tx, id, note)
    const refused = expect(commit((other) => engine.transfers.cancel(other, id))).rejects.toMatchObject(
      missing('actor'),
    )
    await tx.query('commit')
    tx.release()
    await refused
    await commit((other) => engine.transfers.reject(other, id, note))
    await expect(commit((other) => engine.transfers.resubmit(other, id))).rejects.toMatchObject(missing('createdBy'))
  })

  it('needs one where a batch is canceled, also behind a hold of this moment', async () => {
    const engine = open()
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    const { id } = await enqueue(engine, { batchId })
    const tx = await pool.connect()
    await tx.query('begin')
    await engine.transfers.hold(tx, id, note)
    const refused = expect(commit((other) => engine.batches.cancel(other, batchId))).rejects.toMatchObject(
      missing('actor'),
    )
    await tx.query('commit')
    tx.release()
    await refused
    expect(await engine.batches.get(batchId)).toMatchObject({ state: 'open' })
    const canceled = await commit((other) =>
      engine.batches.cancel(other, batchId, { actor: 'otto', reason: 'a mistake' }),
    )
    expect(canceled).toEqual({ canceled: 1, unended: 0 })
    expect(await engine.audit.list({ command: 'batches.cancel' })).toMatchObject([
      { actor: 'otto', reason: 'a mistake', after: { batchId, canceled: 1 } },
    ])
  })
})
