import type { EnqueueRequest } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../test/outbox.ts'

describe('outlay events tail', async () => {
  const host = await testHost()
  const { database } = host

  it('prints the events of one account that stand behind pages of those of another', async () => {
    // The first event of a transfer is stored where a subscription wants it.
    await host.pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.enqueued}')`)
    const { request } = await host.enqueue({ accountId: 'acme' })
    const one = { ...request, accountId: 'big' } as EnqueueRequest
    await host.commit((tx) =>
      host.engine.transfers.enqueueMany(
        tx,
        Array.from({ length: 2_500 }, () => one),
      ),
    )
    await host.enqueue({ accountId: 'acme' })
    const tail = async (account: string) => {
      const args = ['events', 'tail', '--once', '--since', '1h', '--account', account, '--json']
      const { code, stdout } = await outlay(args, { DATABASE_URL: database.url })
      expect(code).toBe(0)
      return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).accountId as string]))
    }
    // A transaction that is open in any database of the server holds the stream up, so a read may be early.
    const big = await waitUntil(
      async () => {
        const accounts = await tail('big')
        return accounts.length === 2_500 ? accounts : undefined
      },
      { timeoutMs: 150_000 },
    )
    expect(new Set(big)).toEqual(new Set(['big']))
    await waitUntil(async () => (await tail('acme')).length === 2, { timeoutMs: 150_000 })
    expect(new Set(await tail('acme'))).toEqual(new Set(['acme']))
    expect(await tail('nobody')).toEqual([])
  })
})
