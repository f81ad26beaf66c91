import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

const note = { actor: 'petra', reason: 'decided' }

it('policies are set by nobody who does not see what is set', async () => {
  const { pool, open, commit } = await testHost()
  const engine = open()
  const snapshot = await pool.connect()
  try {
    await snapshot.query('begin isolation level repeatable read')
    await snapshot.query('select from outlay.transfer')
    await commit((tx) => engine.policies.set(tx, [{ name: 'first', hold: 'h' }], note))
    const refused = { code: 'conflict', message: expect.stringContaining('in a new transaction') }
    await expect(engine.policies.set(snapshot, [{ name: 'late', hold: 'h' }], note)).rejects.toMatchObject(refused)
    await snapshot.query('commit')
  } finally {
    snapshot.release()
  }
  expect(await engine.policies.get()).toMatchObject({ version: 1, policies: [{ name: 'first' }] })
  expect(await engine.audit.list({ command: 'policies.set' })).toHaveLength(1)
})
