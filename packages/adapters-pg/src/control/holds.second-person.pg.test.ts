import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

const by = (actor: string, reason = `${actor} says so`) => ({ actor, reason })

describe('what a second person holds back', async () => {
  const { open, commit, enqueue } = await testHost()

  it('is a transfer that the first one holds: the attempt is written down, once for each person', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    const hold = (actor: string) => commit((tx) => engine.transfers.hold(tx, id, by(actor)))
    expect([await hold('bert'), await hold('olga'), await hold('Bert')]).toEqual([true, false, false])
    expect((await engine.transfers.holds(id))?.holds).toMatchObject([{ name: 'operator', actor: 'bert' }])
    const [attempt, ...others] = await engine.audit.list({ command: 'transfers.hold' })
    expect(attempt).toMatchObject({ ...by('olga'), transferId: id, before: { holds: [{ actor: 'bert' }] } })
    expect(attempt?.after).toEqual({ changed: false })
    expect(others).toMatchObject([by('bert')])
  })

  it('stays where somebody releases the hold that they have read, and that one has ended', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    const hold = (actor: string) => commit((tx) => engine.transfers.hold(tx, id, by(actor)))
    const release = (end: object) => commit((tx) => engine.transfers.release(tx, id, { ...by('carl'), ...end }))
    const readSince = async () => (await engine.transfers.holds(id))?.holds[0]?.since
    await hold('bert')
    const since = await readSince()
    await release({})
    await hold('olga')
    for (const end of [{ since }, { hold: 'operator', since }])
      await expect(release(end)).rejects.toMatchObject({
        ...{ code: 'conflict', field: 'since' },
        message: expect.stringContaining('olga'),
      })
    await expect(release({ since: 'yesterday' })).rejects.toMatchObject({ code: 'invalid_request', field: 'since' })
    expect(await release({ since: await readSince() })).toBe(true)
    await expect(release({ since })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('is a stop of the first one, and stays where somebody ends that one and it has ended', async () => {
    const engine = open()
    const stop = (actor: string) =>
      commit((tx) => engine.stops.add(tx, { scope: 'account', name: 'acme', ...by(actor) }))
    const end = (since?: string) =>
      commit((tx) => engine.stops.end(tx, { scope: 'account', name: 'acme', ...by('carl'), since }))
    const readSince = async () => (await engine.stops.list())[0]?.since
    expect([await stop('bert'), await stop('olga'), await stop('bert')]).toEqual([true, false, false])
    const [attempt, ...others] = await engine.audit.list({ command: 'stops.add' })
    expect(attempt).toMatchObject({ ...by('olga'), before: by('bert'), after: { name: 'acme', changed: false } })
    expect(others).toMatchObject([by('bert')])
    const since = await readSince()
    expect(await end(since)).toBe(true)
    await stop('olga')
    await expect(end(since)).rejects.toMatchObject({ code: 'conflict', field: 'since' })
    expect(await engine.stops.list()).toMatchObject([{ actor: 'olga' }])
    expect(await end(await readSince())).toBe(true)
    expect(await end(since)).toBe(false)
  })
})

describe('a transfer that was resubmitted', async () => {
  const { open, commit, enqueue, rows } = await testHost()

  it('is approved, released and let pass by nobody who created one that it stands in the place of', async () => {
    const engine = open()
    const policies = [
      { name: 'all', approvals: [{}] },
      { name: 'odd', hold: 'check it' },
      { name: 'list', screen: 'sanctions' },
    ]
    await commit((tx) => engine.policies.set(tx, policies, by('petra')))
    const { id: first } = await enqueue(engine, { createdBy: 'carl' })
    await commit((tx) => engine.transfers.reject(tx, first, by('carl')))
    const resubmit = async (id: string, createdBy: string) =>
      (await commit((tx) => engine.transfers.resubmit(tx, id, { createdBy }))).id
    const second = await resubmit(first, 'bob')
    await commit((tx) => engine.transfers.reject(tx, second, by('carl')))
    const third = await resubmit(second, 'dora')
    for (const actor of ['Carl', 'bob', 'dora']) {
      const refused = { code: 'approval_refused', field: 'actor' }
      await expect(commit((tx) => engine.transfers.approve(tx, third, { actor }))).rejects.toMatchObject(refused)
      const release = { ...by(actor), hold: 'limit', policy: 'odd' } as const
      await expect(commit((tx) => engine.transfers.release(tx, third, release))).rejects.toMatchObject(refused)
    }
    await commit((tx) =>
      engine.transfers.answerScreening(tx, third, { ...by('provider'), result: 'hold', case: 'c-1' }),
    )
    const pass = { ...by('carl'), result: 'pass', case: 'c-1' } as const
    await expect(commit((tx) => engine.transfers.answerScreening(tx, third, pass))).rejects.toMatchObject({
      code: 'approval_refused',
    })
    expect(await engine.transfers.holds(third)).toMatchObject({ createdBy: 'dora', earlierCreators: ['bob', 'carl'] })
    await commit((tx) => engine.transfers.approve(tx, third, { actor: 'anna' }))
  })

  it.each([1, 2])('is so while its account moves and %i of those are packed', async (packed) => {
    const engine = open()
    await commit((tx) => engine.policies.set(tx, [{ name: 'all', approvals: [{}] }], by('petra')))
    const { id: first } = await enqueue(engine, { createdBy: 'carl', idempotencyKey: 'a' })
    await commit((tx) => engine.transfers.reject(tx, first, by('anna')))
    const { id: second } = await commit((tx) => engine.transfers.resubmit(tx, first, { createdBy: 'bob' }))
    await commit((tx) => engine.transfers.reject(tx, second, by('anna')))
    const { id: third } = await commit((tx) => engine.transfers.resubmit(tx, second, { createdBy: 'dora' }))
    const approve = (actor: string) => commit((tx) => engine.transfers.approve(tx, third, { actor }))
    const refuse = async () => {
      for (const actor of ['Carl', 'bob', 'dora'])
        await expect(approve(actor)).rejects.toMatchObject({ code: 'approval_refused', field: 'actor' })
      expect(await engine.transfers.holds(third)).toMatchObject({ createdBy: 'dora', earlierCreators: ['bob', 'carl'] })
    }
    await rows(`select outlay.move_depart('acme', 'west', 7, null, null)`)
    const pack = `select p.packed from outlay.move_pack('acme', 7, '', $1, true) p`
    expect(await rows(pack, [packed])).toEqual([{ packed }])
    await refuse()
    await rows(`select outlay.move_back('acme', 'east', 7, true)`)
    await refuse()
    await approve('anna')
  })
})
