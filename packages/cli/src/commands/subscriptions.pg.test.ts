import { drain, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('outlay subscriptions remove', async () => {
  const host = await testHost()
  const { database } = host
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: database.url })
  const remove = (...args: string[]) => run('subscriptions', 'remove', 'books', ...args)

  it.each([[], ['--types', 'transfer.submitted'], ['--discard']])(
    'is refused while a process attends the subscription, so that no event is lost: books %s %s',
    async (...args) => {
      const engine = host.again()
      const received: string[] = []
      engine.subscribe('books', ['transfer.submitted', 'transfer.failed'], async ({ transferId }) => {
        received.push(transferId)
      })
      await engine.start()
      const first = await host.enqueue()
      await waitUntil(() => received.includes(first.id))
      await waitUntil(async () => (await engine.backlog()).undelivered === 0)
      const refused = await remove(...args)
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(/A running process attends .*books.*seconds at the earliest/)
      expect(refused.stderr).toContain('Stop the processes that subscribe to it')
      const second = await host.enqueue()
      await waitUntil(() => received.includes(second.id))
    },
  )

  it('is refused while events are left to handle, unless they are discarded', async () => {
    const engine = host.again()
    engine.subscribe('books', ['transfer.completed'], async () => {
      throw new Error('the books are closed')
    })
    await engine.start()
    await host.enqueue()
    await waitUntil(
      async () => (await host.pool.query('select 1 from outlay.delivery where failures > 0')).rowCount === 1,
    )
    await engine.stop()
    const ago = `now() - interval '121 seconds'`
    await host.pool.query(
      `update outlay.subscription set attended_at = ${ago}, attended = jsonb_build_object('transfer.completed', ${ago})`,
    )
    expect((await remove()).stderr).toContain('--discard')
    expect((await run('subscriptions', 'remove', 'nobody')).stderr).toContain('There are: books.')
    expect(JSON.parse((await remove('--discard', '--json')).stdout)).toEqual({
      ...{ subscription: 'books', types: null, discarded: 1 },
    })
    expect((await run('subscriptions', 'list')).stdout).toContain('No subscription.')
    await host.engine.start()
    await drain(host.engine)
  })
})
