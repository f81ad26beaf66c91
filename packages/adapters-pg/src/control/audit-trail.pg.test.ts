import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { auditTrail } from './audit-trail.ts'

describe('the audit of commands that write no entry of their own', async () => {
  const { driver, open, commit, enqueue } = await testHost()
  const trail = auditTrail({ driver })
  const entry = { actor: 'ada', reason: 'odd', before: null, after: { paused: true } }
  const note = { actor: 'olga', reason: 'it is odd' }

  it('has one entry for each command, also where the command writes its own', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit(async (tx) => {
      const { complete } = await trail.begin(tx)
      await engine.transfers.hold(tx, id, note)
      await complete({ ...entry, command: 'transfers.hold', transferId: id })
      await complete({ ...entry, command: 'accounts.pause', transferId: null })
    })
    expect((await engine.audit.list()).map(({ command, actor }) => [command, actor])).toEqual([
      ['accounts.pause', 'ada'],
      ['transfers.hold', 'olga'],
    ])
  })

  it('is written beside that of another transaction about the same, whichever commits first', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    const resolve = { ...entry, command: 'transfers.resolve', transferId: id }
    await commit(async (tx) => {
      const { complete } = await trail.begin(tx)
      await commit(async (other) => (await trail.begin(other)).complete({ ...resolve, actor: 'bert' }))
      await complete(resolve)
    })
    expect((await engine.audit.list()).map(({ actor }) => actor)).toEqual(['ada', 'bert'])
  })

  it('goes with its transaction', async () => {
    const engine = open()
    const failed = commit(async (tx) => {
      await (await trail.begin(tx)).complete({ ...entry, command: 'accounts.pause', transferId: null })
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    expect(await engine.audit.list()).toEqual([])
  })
})
