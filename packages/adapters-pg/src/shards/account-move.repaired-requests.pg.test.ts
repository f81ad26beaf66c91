import { describe, expect, it } from 'vitest'
import { claimReady } from '../../test/limit-claims.ts'
import { moveHost, payAt } from '../../test/move-host.ts'

describe('a move of an account with a request that was stored as a text, before the database refused that,', async () => {
  const host = await moveHost()

  it('takes it along, and it is blocked alone where it arrives', async () => {
    const { shards, account } = await host.openAt()
    const [bad, ended, good] = await Promise.all(['a', 'b', 'c'].map((key) => payAt(shards, account, key)))
    const text = `update outlay.transfer set request = to_jsonb(request::text) where id = any ($1)`
    await host.east.query(text, [[bad?.id, ended?.id]])
    await host.east.query(`update outlay.transfer set stage = 'settled', status = 'canceled' where id = $1`, [
      ended?.id,
    ])
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved', transfers: 3 })
    expect(await claimReady(host.west)).toEqual([good?.id])
    const { rows } = await host.west.query(
      `select id, stage, reason, jsonb_typeof(request) as request from outlay.transfer where id <> $1 order by idempotency_key`,
      [good?.id],
    )
    expect(rows).toEqual([
      { id: bad?.id, stage: 'blocked', reason: 'repaired_request', request: 'object' },
      { id: ended?.id, stage: 'settled', reason: null, request: 'string' },
    ])
  })
})
