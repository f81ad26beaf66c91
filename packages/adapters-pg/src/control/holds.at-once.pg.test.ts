import { beforeEach, describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { countJobs } from '../../test/queue.ts'

const note = { actor: 'petra', reason: 'as the board decided' }

describe('approvals at once in one transaction', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const engine = open()
  const people = ['anna', 'bert']
  beforeEach(() => commit((tx) => engine.policies.set(tx, [{ name: 'two', approvals: [{ count: 2 }] }], note)))

  it('release a transfer with the last of them', async () => {
    const { id } = await enqueue(engine, { createdBy: 'carl' })
    const answers = await commit((tx) =>
      Promise.all(people.map((actor) => engine.transfers.approve(tx, id, { actor }))),
    )
    expect(answers.filter(({ released }) => released)).toHaveLength(1)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued' })
    expect(await engine.transfers.holds(id)).toMatchObject({ holds: [], missing: [] })
  })

  it('release a batch with the last of them', async () => {
    const { id } = await commit((tx) => engine.batches.create(tx))
    for (const _ of people) await enqueue(engine, { createdBy: 'carl', batchId: id })
    const answers = await commit((tx) => Promise.all(people.map((actor) => engine.batches.approve(tx, id, { actor }))))
    expect(answers.map(({ approved }) => approved)).toEqual([2, 2])
    expect(answers.reduce((sum, { released }) => sum + released, 0)).toBe(2)
    expect(await countJobs(pool)).toBe(2)
  })

  it('are ended by the next approval where an earlier release has left them held', async () => {
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    const { id } = await enqueue(engine, { createdBy: 'carl', batchId })
    for (const actor of people) await rows(`select outlay.add_approval($1, $2, '{}', null)`, [id, actor])
    expect(await engine.transfers.holds(id)).toMatchObject({ missing: [], holds: [{ policy: 'two' }] })
    const approved = await commit((tx) => engine.batches.approve(tx, batchId, { actor: 'bert' }))
    expect(approved).toEqual({ approved: 1, released: 1 })
  })
})
