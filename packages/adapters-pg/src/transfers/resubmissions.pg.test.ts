import type { ResubmitOptions } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'

const note = { actor: 'petra', reason: 'as the board decided' }

describe('a resubmission where policies hold', async () => {
  const { open, commit, rows, enqueue } = await testHost()
  const openHeld = async () => {
    const engine = open()
    await commit((tx) => engine.policies.set(tx, [{ name: 'all', approvals: [{}] }], note))
    const { id } = await enqueue(engine, { createdBy: 'carl' })
    await commit((tx) => engine.transfers.reject(tx, id, { actor: 'anna', reason: 'not yet' }))
    return { engine, id }
  }
  const resubmit = (engine: HostEngine, id: string, options?: ResubmitOptions) =>
    commit((tx) => engine.transfers.resubmit(tx, id, options))

  it('is of whoever asks for it, who does not approve it, and neither does the creator of the ended one', async () => {
    const { engine, id } = await openHeld()
    const again = await resubmit(engine, id, { createdBy: 'bert' })
    expect(again).toMatchObject({ stage: 'held', createdBy: 'bert' })
    const own = commit((tx) => engine.transfers.approve(tx, again.id, { actor: 'Bert' }))
    await expect(own).rejects.toMatchObject({ code: 'approval_refused', field: 'actor' })
    const earlier = commit((tx) => engine.transfers.approve(tx, again.id, { actor: 'carl' }))
    await expect(earlier).rejects.toMatchObject({ code: 'approval_refused', field: 'actor' })
    expect(await commit((tx) => engine.transfers.approve(tx, again.id, { actor: 'dora' }))).toMatchObject({
      released: true,
    })
  })

  it('is refused where nobody says who asks, and leaves nothing', async () => {
    const { engine, id } = await openHeld()
    await commit(async (tx) => {
      const anonymous = engine.transfers.resubmit(tx, id)
      await expect(anonymous).rejects.toMatchObject({ code: 'missing_field', field: 'createdBy' })
    })
    expect(await rows('select from outlay.resubmission')).toEqual([])
    expect(await engine.audit.list({ command: 'transfers.resubmit' })).toEqual([])
  })

  it('is written down once, with what is other than it was', async () => {
    const { engine, id } = await openHeld()
    const options = { createdBy: 'bert', amount: { value: '13.00', currency: 'USD' } }
    const { id: successor } = await resubmit(engine, id, options)
    expect(await resubmit(engine, id, options)).toMatchObject({ id: successor, reused: true })
    await commit(async (tx) => {
      await engine.transfers.cancel(tx, successor)
      await engine.transfers.resubmit(tx, successor, { createdBy: 'dora' })
      throw new Error('not after all')
    }).catch(() => undefined)
    expect(await engine.audit.list({ command: 'transfers.resubmit' })).toMatchObject([
      {
        ...{ actor: 'bert', reason: null, transferId: id },
        before: { status: 'canceled', createdBy: 'carl', amount: { value: '12.50' } },
        after: { resubmittedAs: successor, stage: 'held', amount: { value: '13.00' } },
      },
    ])
  })

  it('is written down without policies too, and without a name where none is given', async () => {
    const engine = open()
    const { id } = await enqueue(engine, { createdBy: 'carl' })
    await commit((tx) => engine.transfers.cancel(tx, id, note))
    const { id: successor, createdBy } = await resubmit(engine, id)
    expect(createdBy).toBeUndefined()
    expect(await engine.audit.list({ transferId: id })).toMatchObject([
      { command: 'transfers.resubmit', actor: null, after: { resubmittedAs: successor, stage: 'queued' } },
      { command: 'transfers.cancel', actor: 'petra' },
    ])
  })
})
