import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'

const note = { actor: 'olga', reason: 'checked' }

describe('a release', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const hold = async (engine: HostEngine) => {
    const policies = [
      { name: 'odd', hold: 'check it' },
      { name: 'night', hold: 'in the morning' },
      { name: 'all', approvals: [{}] },
    ]
    await commit((tx) => engine.policies.set(tx, policies, note))
    const { id } = await enqueue(engine, { createdBy: 'carl' })
    await commit((tx) => engine.transfers.hold(tx, id, { actor: 'bert', reason: 'the invoice is odd' }))
    await pool.query(`insert into outlay.hold (transfer_id, name, why) values ($1, 'screening', 'a list')`, [id])
    return id
  }
  const names = async (engine: HostEngine, id: string) =>
    (await engine.transfers.holds(id))?.holds.map(({ name, policy }) => [name, policy].filter(Boolean).join(' '))

  it('ends the hold that it names and no other one, and is written down with it', async () => {
    const engine = open()
    const id = await hold(engine)
    const release = (end: object = {}) => commit((tx) => engine.transfers.release(tx, id, { ...note, ...end }))
    expect(await names(engine, id)).toEqual(['approval all', 'limit night', 'limit odd', 'operator', 'screening'])
    expect(await release()).toBe(true)
    expect(await names(engine, id)).toEqual(['approval all', 'limit night', 'limit odd', 'screening'])
    const refused = { code: 'conflict', field: 'hold', message: expect.stringContaining("policy: 'odd'") }
    await expect(release()).rejects.toMatchObject(refused)
    await expect(release({ hold: 'limit', policy: 'no' })).rejects.toMatchObject(refused)
    expect(await release({ hold: 'limit', policy: 'odd' })).toBe(true)
    expect(await release({ hold: 'screening' })).toBe(true)
    expect(await names(engine, id)).toEqual(['approval all', 'limit night'])
    expect(await release({ hold: 'limit', policy: 'night' })).toBe(true)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'approval' })
    await expect(release()).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('approve it') })
    const audit = await engine.audit.list({ command: 'transfers.release' })
    expect(
      audit.map(({ after }) => (after as { released: { name: string }[] }).released.map(({ name }) => name)),
    ).toEqual([['limit'], ['screening'], ['limit'], ['operator']])
  })

  it('names a hold that there is, before any SQL', async () => {
    const engine = open()
    const id = await hold(engine)
    const wrong: readonly (readonly [object, string])[] = [
      [{ hold: 'approval' }, 'hold'],
      [{ hold: 'limits' }, 'hold'],
      [{ hold: 'limit' }, 'policy'],
      [{ policy: 'odd' }, 'hold'],
      [{ hold: 'operator', policy: 'odd' }, 'policy'],
      [{ holds: 'limit' }, 'holds'],
    ]
    await commit(async (tx) => {
      for (const [end, field] of wrong) {
        const release = engine.transfers.release(tx, id, { ...note, ...end })
        await expect(release, JSON.stringify(end)).rejects.toMatchObject({ code: 'invalid_request', field })
      }
    })
    expect(await names(engine, id)).toHaveLength(5)
  })

  it('is of somebody else than the creator, but for what people hold, and of a held one where it names a hold', async () => {
    const engine = open()
    const id = await hold(engine)
    const release = (transfer: string, end: object = {}) =>
      commit((tx) => engine.transfers.release(tx, transfer, { ...note, actor: 'CARL', ...end }))
    for (const end of [{ hold: 'screening' }, { hold: 'limit', policy: 'odd' }])
      await expect(release(id, end)).rejects.toMatchObject({ code: 'approval_refused' })
    expect(await release(id)).toBe(true)
    await commit((tx) => engine.policies.set(tx, [], { ...note, clear: true }))
    const { id: free } = await enqueue(engine)
    await expect(release(free, { hold: 'operator' })).rejects.toMatchObject({ code: 'conflict', field: 'hold' })
    expect(await rows(`select stage from outlay.transfer where id = '${free}'`)).toEqual([{ stage: 'queued' }])
  })
})
