import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { cutPages } from '../../test/cut-pages.ts'
import { testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'

describe('transfers of others', async () => {
  const { pool, open, commit } = await testHost()
  const adopted = async () =>
    (await pool.query('select remote_id from outlay.transfer order by 1')).rows.map(({ remote_id }) => remote_id)

  it('are adopted behind empty pages that have a cursor', async () => {
    const gateway = listedGateway()
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
    const ids = [20, 10, 1].map((hours) => gateway.add({ createdAt: hoursAgo(hours) }).id)
    const engine = open({ gateway: { ...gateway, list: cutPages(gateway, 1) }, polling: { maxDelayMs: 50 } })
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: hoursAgo(24) }))
    await engine.start()
    await waitUntil(async () => (await adopted()).length === ids.length)
    expect(await adopted()).toEqual(ids.toSorted())
  })
})
