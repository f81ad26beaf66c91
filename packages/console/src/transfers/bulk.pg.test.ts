import { describe, expect, it } from 'vitest'
import { admin, consoleHost, type Json } from '../../test/host.ts'
import { mostInBulk } from './bulk.ts'

describe('a bulk action', async () => {
  const { call, engine, enqueue, commit, pool } = await consoleHost()
  const reason = 'wrong account of the payee'
  const filter = { accountId: 'acme', stage: 'queued' }

  const preview = async (action: string, wanted: Json = filter) => {
    const { json } = await call<{ count: number; digest: string }>(`POST /bulk/transfers/${action}`, {
      body: { filter: wanted, dryRun: true },
    })
    return { count: json.count, digest: json.digest }
  }
  const perform = (action: string, expected: Json, wanted: Json = filter) =>
    call(`POST /bulk/transfers/${action}`, { body: { filter: wanted, expected, reason } })

  it('does exactly what the dry run has shown, with one entry for each transfer and one for all', async () => {
    for (let at = 0; at < 3; at += 1) await enqueue()
    const { json } = await call('POST /bulk/transfers/hold', { body: { filter, dryRun: true } })
    expect(json).toMatchObject({
      ...{ done: false, count: 3, accounts: 1 },
      totals: [{ currency: 'USD', status: 'pending', count: 3, amount: '37.50' }],
    })
    expect(await engine.audit.list()).toEqual([])
    expect((await perform('hold', await preview('hold'))).json).toMatchObject({ done: true, count: 3 })
    const records = await engine.audit.list()
    expect(records.map(({ command }) => command)).toEqual([
      ...['transfers.bulk_hold', 'transfers.hold', 'transfers.hold', 'transfers.hold'],
    ])
    expect((await engine.backlog()).held).toBe(3)
  })

  it('is refused when a transfer entered, left or changed since the dry run', async () => {
    const { id } = await enqueue()
    const shown = await preview('cancel')
    const { id: entered } = await enqueue()
    expect((await perform('cancel', shown)).json).toMatchObject({ status: 409, code: 'conflict' })
    await commit((tx) => engine.transfers.cancel(tx, entered))
    const again = await preview('cancel')
    expect(again).toEqual(shown)
    expect((await perform('hold', again)).status).toBe(409)
    await pool.query(`update outlay.transfer set reason = 'rate_limited' where id = $1`, [id])
    expect((await perform('cancel', again)).status).toBe(409)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued' })
  })

  it('does all or nothing', async () => {
    const [first, second] = [await enqueue(), await enqueue()]
    await pool.query(`update outlay.transfer set stage = 'submitting' where id = $1`, [second.id])
    const both = { accountId: 'acme' }
    const done = await perform('cancel', await preview('cancel', both), both)
    expect(done.json).toMatchObject({ status: 409, code: 'transfer_not_cancelable' })
    expect(await engine.transfers.get(first.id)).toMatchObject({ stage: 'queued' })
    expect(await engine.audit.list()).toEqual([])
  })

  it('holds what nobody holds, and has in the audit whose hold it met', async () => {
    const [own, others, free] = [await enqueue(), await enqueue(), await enqueue()]
    await commit((tx) => engine.transfers.hold(tx, own.id, { actor: 'ada', reason: 'odd' }))
    await commit((tx) => engine.transfers.hold(tx, others.id, { actor: 'bert', reason: 'the payee called' }))
    const all = { accountId: 'acme' }
    const done = await perform('hold', await preview('hold', all), all)
    expect(done.json).toMatchObject({ done: true, count: 3, unfit: 0, unchanged: 2 })
    expect(await engine.audit.list({ transferId: free.id })).toMatchObject([{ command: 'transfers.hold', reason }])
    expect(await engine.audit.list({ transferId: others.id })).toMatchObject([
      { actor: 'ada', reason, before: { holds: [{ actor: 'bert' }] }, after: { changed: false } },
      { actor: 'bert' },
    ])
    const [entry] = await engine.audit.list({ command: 'transfers.bulk_hold' })
    expect(entry).toMatchObject({ actor: 'ada', reason, after: { count: 3, unchanged: [own.id, others.id] } })
    expect((await engine.transfers.holds(others.id))?.holds).toMatchObject([{ actor: 'bert' }])
  })

  it('shows beforehand how many it would be refused for', async () => {
    const { id } = await enqueue()
    await enqueue()
    await commit((tx) => engine.transfers.cancel(tx, id))
    for (const [action, unfit] of [
      ['hold', 1],
      ['cancel', 1],
      ['release', 2],
    ] as const) {
      const { json } = await call(`POST /bulk/transfers/${action}`, {
        body: { filter: { accountId: 'acme' }, dryRun: true },
      })
      expect(json, action).toMatchObject({ count: 2, unfit })
    }
  })

  it('happens once when two do it at once', async () => {
    for (let at = 0; at < 3; at += 1) await enqueue()
    const shown = await preview('cancel')
    const answers = await Promise.all([perform('cancel', shown), perform('cancel', shown)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const commands = (await engine.audit.list()).map(({ command }) => command)
    expect(commands.filter((one) => one === 'transfers.cancel')).toHaveLength(3)
    expect(commands.filter((one) => one === 'transfers.bulk_cancel')).toHaveLength(1)
  })

  it('approves and rejects what a batch holds', async () => {
    await commit((tx) => engine.policies.set(tx, [{ name: 'four-eyes', approvals: [{}] }], { actor: 'o', reason }))
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    for (let at = 0; at < 2; at += 1) await enqueue({ createdBy: 'carl', batchId })
    const held = { batchId, stage: 'held' }
    const own = await call('POST /bulk/transfers/approve', {
      as: { ...admin, actor: 'Carl' },
      body: { filter: held, expected: await preview('approve', held), reason },
    })
    expect(own.json).toMatchObject({ status: 403, code: 'approval_refused' })
    expect((await perform('approve', await preview('approve', held), held)).json).toMatchObject({ count: 2 })
    expect((await engine.backlog()).held).toBe(0)
    const { id } = await enqueue({ createdBy: 'carl', batchId })
    await perform('reject', await preview('reject', held), held)
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'canceled', reason: 'rejected' })
  })

  it('asks for a filter, for what was shown, and for a reason', async () => {
    await enqueue()
    const refused = async (body: Json) => (await call('POST /bulk/transfers/cancel', { body })).json
    const pointer = (name: string) => ({ status: 422, errors: [{ source: { pointer: name } }] })
    expect(await refused({ filter: {}, dryRun: true })).toMatchObject(pointer('/filter'))
    expect(await refused({ filter, reason })).toMatchObject(pointer('/expected'))
    expect(await refused({ filter, expected: await preview('cancel') })).toMatchObject(pointer('/reason'))
    expect(await refused({ filter: { acountId: 'acme' }, dryRun: true })).toMatchObject(pointer('/filter/acountId'))
  })

  it('is of a bounded number of transfers', async () => {
    const payout = { accountId: 'acme', amount: { value: '1.00', currency: 'USD' } }
    const legs = {
      source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
      destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
    }
    await commit((tx) => engine.transfers.enqueueMany(tx, Array(mostInBulk + 1).fill({ ...payout, ...legs })))
    const { json } = await call('POST /bulk/transfers/cancel', { body: { filter, dryRun: true } })
    expect(json).toMatchObject({ status: 422, detail: expect.stringContaining('More than 500') })
  })
})
