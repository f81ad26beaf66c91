import { memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const amount = { value: '11.00', currency: 'USD' }
const destination = { addressId: '01J0000000000000000000000C', valueType: 'USD', transferType: 'ach_credit' }

describe('a resubmission with a correction', async () => {
  const { open, commit, rows, enqueue } = await testHost()

  const cancel = async (engine: HostEngine) => {
    const { id } = await enqueue(engine, { idempotencyKey: 'k', note: 'salary', metadata: { order: '1' } })
    await commit((tx) => engine.transfers.cancel(tx, id))
    return id
  }
  const links = () => rows('select transfer_id, successor_id from outlay.resubmission order by transfer_id')

  it('pays the corrected amount to the corrected address, and both transfers name each other', async () => {
    const gateway = memoryGateway()
    const sent: unknown[] = []
    const submit: typeof gateway.submit = (submission, options) => {
      sent.push(submission.request)
      return gateway.submit(submission, options)
    }
    const engine = open({ gateway: { ...gateway, submit } })
    const id = await cancel(engine)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id, { amount, destination }))
    expect(again).toMatchObject({
      reused: false,
      resubmissionOf: id,
      idempotencyKey: 'k:resubmit',
      metadata: { order: '1' },
    })
    expect(await engine.transfers.get(id)).toMatchObject({
      resubmittedAs: again.id,
      request: { amount: { value: '12.50' } },
    })
    expect(await engine.transfers.get(again.id)).toMatchObject({ resubmissionOf: id, request: { amount, destination } })
    expect(await rows('select resubmission_of, resubmitted_as from outlay.transfers order by created_at')).toEqual([
      { resubmission_of: null, resubmitted_as: again.id },
      { resubmission_of: id, resubmitted_as: null },
    ])
    await engine.start({ pollIntervalMs: 10 })
    await reach(engine, again.id, { status: 'complete' })
    expect(sent).toMatchObject([{ amount, destination, note: 'salary' }])
  })

  it('is the same one for all who ask for the same, and refused to one who asks for another', async () => {
    const engine = open()
    const id = await cancel(engine)
    const first = await commit((tx) => engine.transfers.resubmit(tx, id, { amount }))
    expect(await commit((tx) => engine.transfers.resubmit(tx, id, { amount }))).toMatchObject({
      id: first.id,
      reused: true,
      resubmissionOf: id,
    })
    await commit(async (tx) => {
      const others = [
        {},
        { amount: { ...amount, value: '10.00' } },
        { amount, destination },
        { amount, idempotencyKey: 'other' },
      ]
      for (const other of others) {
        await expect(engine.transfers.resubmit(tx, id, other)).rejects.toMatchObject({
          code: 'conflict',
          message: expect.stringContaining(first.id),
        })
      }
    })
    expect(await rows('select count(*)::integer as count from outlay.transfer')).toEqual([{ count: 2 }])
  })

  it.each([
    ['under the derived key', {}],
    ['under keys of their own', { own: true }],
  ])('has one successor when two ask at once %s', async (_, { own = false }: { readonly own?: boolean }) => {
    const engine = open()
    const id = await cancel(engine)
    const ask = (value: string) =>
      commit((tx) =>
        engine.transfers.resubmit(tx, id, {
          amount: { ...amount, value },
          ...(own ? { idempotencyKey: `own-${value}` } : {}),
        }),
      )
    const results = await Promise.allSettled(['1.00', '2.00', '3.00', '4.00'].map(ask))
    const done = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value.id] : []))
    expect(done).toHaveLength(1)
    for (const one of results) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'conflict' })
    expect(await links()).toEqual([{ transfer_id: id, successor_id: done[0] }])
    expect(await rows('select count(*)::integer as count from outlay.transfer')).toEqual([{ count: 2 }])
  })

  it('that was rolled back leaves the place free', async () => {
    const engine = open()
    const id = await cancel(engine)
    const lost = commit(async (tx) => {
      await engine.transfers.resubmit(tx, id, { amount })
      throw new Error('rolled back')
    })
    await expect(lost).rejects.toThrow('rolled back')
    expect(await engine.transfers.get(id)).not.toHaveProperty('resubmittedAs')
    expect(await commit((tx) => engine.transfers.resubmit(tx, id))).toMatchObject({ reused: false })
  })

  it('is refused while the transfer waits, and leaves the transaction usable', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit(async (tx) => {
      await expect(engine.transfers.resubmit(tx, id, { amount })).rejects.toMatchObject({ code: 'conflict' })
      await engine.transfers.cancel(tx, id)
      await expect(engine.transfers.resubmit(tx, id, { amount: { ...amount, value: '-1' } })).rejects.toMatchObject({
        field: 'amount.value',
      })
      const of = { ...destination, addressId: '0xb794f5ea0ba39494ce839613fffba74279579268' }
      await expect(engine.transfers.resubmit(tx, id, { destination: of })).rejects.toMatchObject({
        field: 'destination.addressId',
      })
      await expect(engine.transfers.resubmit(tx, id, { sum: amount } as never)).rejects.toMatchObject({ field: 'sum' })
    })
    expect(await links()).toEqual([])
  })

  it('does not take a transfer of another purpose for the successor', async () => {
    const engine = open()
    const id = await cancel(engine)
    await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey: 'k:resubmit', amount })))
    await commit(async (tx) => {
      await expect(engine.transfers.resubmit(tx, id)).rejects.toMatchObject({ code: 'idempotency_key_mismatch' })
      await expect(engine.transfers.resubmit(tx, id, { idempotencyKey: 'k' })).rejects.toMatchObject({
        code: 'idempotency_key_mismatch',
      })
    })
    expect(await links()).toEqual([])
  })

  it('finds what an earlier release resubmitted under the derived key', async () => {
    const engine = open()
    const id = await cancel(engine)
    const { id: earlier } = await enqueue(engine, { idempotencyKey: 'k:resubmit', note: 'salary' })
    expect(await commit((tx) => engine.transfers.resubmit(tx, id))).toMatchObject({ id: earlier, reused: true })
    expect(await links()).toEqual([{ transfer_id: id, successor_id: earlier }])
  })

  it('of the amount is refused where a quote has fixed it', async () => {
    const engine = open()
    const to = { addressId: '01J0000000000000000000000B', valueType: 'MXN', transferType: 'spei' }
    const sent = { amount: { value: '100', currency: 'USDC' }, destination: to, quoteId: '01J0000000000000000000000Q' }
    const { id } = await enqueue(engine, sent)
    await commit((tx) => engine.transfers.cancel(tx, id))
    const other = { value: '200', currency: 'USDC' }
    const refused = commit((tx) => engine.transfers.resubmit(tx, id, { amount: other }))
    await expect(refused).rejects.toMatchObject({ code: 'conflict', field: 'amount' })
    expect(await links()).toEqual([])
  })

  it('leads from one to the next when the successor fails as well', async () => {
    const engine = open()
    const id = await cancel(engine)
    const second = await commit((tx) => engine.transfers.resubmit(tx, id, { amount }))
    await commit((tx) => engine.transfers.cancel(tx, second.id))
    const third = await commit((tx) => engine.transfers.resubmit(tx, second.id))
    expect(third).toMatchObject({
      idempotencyKey: 'k:resubmit:resubmit',
      resubmissionOf: second.id,
      request: { amount },
    })
    expect(await engine.transfers.get(second.id)).toMatchObject({ resubmissionOf: id, resubmittedAs: third.id })
  })
})
