import { drain } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('outlay batches', async () => {
  const host = await testHost()
  const run = (...args: string[]) => outlay(['batches', ...args], { DATABASE_URL: host.database.url })

  it('shows a batch, pauses, resumes, closes and cancels it', async () => {
    const { id: batchId } = await host.commit((tx) => host.engine.batches.create(tx, { key: 'salaries' }))
    await host.enqueue({ idempotencyKey: 'a', batchId })
    await host.enqueue({ idempotencyKey: 'b', batchId })
    expect((await run('show', batchId)).stdout).toContain(`batch ${batchId} (salaries): open; 2 transfers: 0 complete`)
    expect((await run('pause', batchId)).stdout).toMatch(/is paused\..*\n.*open, paused; 2 transfers/)
    expect((await run('pause', batchId)).stdout).toContain('is paused already; nothing changed.')
    expect((await run('resume', batchId)).stdout).toContain('is resumed')
    expect((await run('resume', batchId)).stdout).toContain('is not paused; nothing changed.')
    expect((await run('close', batchId)).stdout).toContain('is closed.')
    await host.engine.start()
    await drain(host.engine)
    expect((await run('show', batchId)).stdout).toContain('2 complete, 0 failed, 0 canceled, 0 not ended')
    expect((await run('cancel', batchId)).stdout).toContain('0 transfers of')
    expect(JSON.parse((await run('show', batchId, '--json')).stdout)).toMatchObject({
      id: batchId,
      counts: { total: 2 },
    })
  })

  it('cancels what was not sent', async () => {
    const { id: batchId } = await host.commit((tx) => host.engine.batches.create(tx, { key: 'mistaken' }))
    await host.enqueue({ idempotencyKey: 'c', batchId })
    expect((await run('cancel', batchId)).stdout).toMatch(/1 transfer of .* canceled, and it takes no further ones\.\n/)
  })

  it('shows what is to be approved, and approves that and nothing else', async () => {
    const policies = [{ name: 'all', approvals: [{}] }]
    await host.commit((tx) => host.engine.policies.set(tx, policies, { actor: 'petra', reason: 'as decided' }))
    const { id: batchId } = await host.commit((tx) => host.engine.batches.create(tx, { key: 'held' }))
    await host.enqueue({ idempotencyKey: 'd', batchId, createdBy: 'carl' })
    const shown = (await run('show', batchId)).stdout
    const [, digest = ''] = /1 transfer to approve, of 12\.50 USD in all; .* --digest ([0-9a-f]{64})/.exec(shown) ?? []
    await host.enqueue({ idempotencyKey: 'e', batchId, createdBy: 'carl' })
    const approve = (expected: string) => run('approve', batchId, '--actor', 'anna', '--digest', expected)
    const refused = await approve(digest)
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('has 2 to approve, of 25.00 USD in all')
    const { review } = JSON.parse((await run('show', batchId, '--json')).stdout)
    expect((await approve(review.digest)).stdout).toContain('2 transfers of')
  })

  it('names a batch that does not exist', async () => {
    const { code, stderr } = await run('pause', '01J0000000000000000000000B')
    expect(code).toBe(2)
    expect(stderr).toContain('There is no batch "01J0000000000000000000000B" here.')
    expect(stderr).toContain('Write the id that batches.create returned')
  })
})
