import type { WebhookVerifier } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { pgDriver } from '../drivers/pg.ts'

const webhooks: WebhookVerifier = {
  verify: async ({ body }) => ({ remoteId: String(body), status: 'complete', failure: null }),
}

describe('a move of an account of which a webhook comes in its pause', async () => {
  const host = await moveHost()

  it('is not refused for it, and the webhook is sent again', async () => {
    const gateway = memoryGateway({ idPrefix: 'pause', status: 'pending' })
    const said: unknown[] = []
    const receive = (remoteId: string) => shards.webhook({ body: remoteId, headers: {} }, { accountId: account })
    let remoteId = ''
    const west = pgDriver(host.west)
    // All of it is packed by then, and the route is not switched yet.
    const query: typeof west.query = async (statement, ...rest) => {
      if (statement.name.endsWith('_arrive')) said.push(await receive(remoteId))
      return west.query(statement, ...rest)
    }
    const nodes = { east: { driver: pgDriver(host.east) }, west: { driver: { ...west, query } } }
    const { shards, account } = await host.openAt({ nodes, engine: { gateway, webhooks } })
    await shards.start()
    const { id } = await payAt(shards, account, 'first')
    remoteId = await waitUntil(async () => (await shards.transfers.get(id))?.remoteId ?? undefined)
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved' })
    expect(said).toEqual([{ status: 503, code: 'account_moving', changed: 0 }])
    expect(await receive(remoteId)).toEqual({ status: 200, code: null, changed: 1 })
    await drain({ backlog: () => shards.backlog() })
  })
})
