import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const note = { actor: 'petra', reason: 'as the board decided' }

describe('what a later release has written', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  /** As a later release sets them, through the function that this one has too. */
  const setLater = async (...policies: unknown[]) => {
    const { rows: found } = await pool.query(
      'select coalesce(max(version), 0) + 1 as version from outlay.policy_version',
    )
    await pool.query('select outlay.set_policies($1, $2, $3, $4)', [
      ...[found[0]?.version, JSON.stringify(policies), 'petra', 'later'],
    ])
  }
  const stay = { amount: { value: '1.00', currency: 'USD' }, createdBy: 'carl' }

  it.each([
    ['kind', { name: 'later', notify: ['anna'] }],
    ['kind beside one that is known', { name: 'later', hold: 'h', until: '2027-01-01' }],
    ['condition', { name: 'later', when: { velocity: { perDay: 3 } }, hold: 'h' }],
    ['word in a condition', { name: 'later', when: { flows: ['bridge'] }, hold: 'h' }],
    ['member of a step', { name: 'later', approvals: [{ notRoles: ['sales'] }] }],
  ])('refuses an enqueue where it is a policy with another %s, in every process', async (_, policy) => {
    const [first, engine] = [open(), open()]
    await commit((tx) => first.policies.set(tx, [{ name: 'known', when: { rails: ['wire'] }, refuse: 'no' }], note))
    const before = await enqueue(engine, { ...stay, idempotencyKey: `before ${_}`.replaceAll(' ', '-') })
    await setLater({ name: 'known', when: { rails: ['wire'] }, refuse: 'no' }, policy)
    await commit(async (tx) => {
      const refused = { code: 'policy_unknown', message: expect.stringContaining('1.') }
      await expect(engine.transfers.enqueue(tx, samplePayout('acme', stay))).rejects.toMatchObject(refused)
      const many = [samplePayout('acme', stay), samplePayout('acme', stay)]
      await expect(open().transfers.enqueueMany(tx, many)).rejects.toMatchObject({ field: '0', ...refused })
      // What was written before is its own, and the transaction of the host goes on.
      const again = samplePayout('acme', { ...stay, idempotencyKey: before.idempotencyKey })
      expect(await engine.transfers.enqueue(tx, again)).toMatchObject({ id: before.id, reused: true })
    })
    expect(await rows('select id from outlay.transfer')).toEqual([{ id: before.id }])
    await commit((tx) => first.policies.set(tx, [], { ...note, clear: true }))
    expect((await enqueue(engine, stay)).stage).toBe('queued')
  })

  it('is not approved or released where it holds by what is not known here', async () => {
    const engine = open()
    const held = async (hold: object) => {
      await commit((tx) => engine.policies.set(tx, [{ name: 'all', approvals: [{}] }], note))
      const { id } = await enqueue(engine, stay)
      await pool.query(
        `update outlay.hold set name = coalesce($1, name), requirement = $2::jsonb where transfer_id = $3`,
        [...['name' in hold ? hold.name : null, 'requirement' in hold ? JSON.stringify(hold.requirement) : null, id]],
      )
      return id
    }
    const asking = await held({ requirement: { steps: [{ count: 1, notRoles: ['sales'] }], inOrder: false } })
    const approve = (on: HostEngine, id: string) =>
      commit((tx) => on.transfers.approve(tx, id, { actor: 'anna', roles: ['sales'] }))
    await expect(approve(engine, asking)).rejects.toMatchObject({ code: 'conflict' })
    expect((await engine.transfers.holds(asking))?.missing).toEqual([])
    const quarantined = await held({ name: 'quarantine' })
    const release = commit((tx) => engine.transfers.release(tx, quarantined, { ...note, actor: 'olga' }))
    await expect(release).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('quarantine') })
    await expect(approve(engine, quarantined)).rejects.toMatchObject({ code: 'conflict' })
    expect(await rows('select distinct stage from outlay.transfer')).toEqual([{ stage: 'held' }])
  })
})
