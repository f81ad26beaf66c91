import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { claimReady } from '../../test/limit-claims.ts'

describe('a request that was stored as a text, before the database refused that,', async () => {
  const { pool, open, commit, enqueue, enqueueMany, rows } = await testHost()
  const encodeTwice = (id: string) =>
    rows(`update outlay.transfer set request = to_jsonb(request::text) where id = $1`, [id])
  const stageOf = 'select stage from outlay.transfer where id = $1'

  it('is blocked alone, with an event, and is sent once a person releases it', async () => {
    const engine = open()
    const events: (readonly [string, string, string | null])[] = []
    const types = ['transfer.blocked', 'transfer.completed', 'transfer.canceled'] as const
    engine.subscribe('log', [...types], async ({ type, transfer }) => {
      events.push([type, transfer.id, transfer.reason])
    })
    const [before, bad, after] = await enqueueMany(engine, 3)
    const other = await enqueue(engine, { accountId: 'beta' })
    await encodeTwice(bad?.id ?? '')
    await engine.start()
    for (const one of [before, after, other]) await reach(engine, one?.id ?? '', { status: 'complete' })
    await waitUntil(async () => (await rows(stageOf, [bad?.id]))[0]?.stage === 'blocked')
    const blocked = { stage: 'blocked', status: 'pending', reason: 'repaired_request' } as const
    const { id } = await reach(engine, bad?.id ?? '', blocked)
    expect(await rows(`select id, waits_for, remedy from outlay.stuck_transfers`)).toEqual([
      { id, waits_for: expect.stringContaining('stored as a text'), remedy: expect.stringContaining('Release it') },
    ])
    await commit((tx) => engine.transfers.release(tx, id, { actor: 'ann', reason: 'still wanted' }))
    await reach(engine, id, { status: 'complete' })
    const ofBad = () => events.filter(([, of]) => of === id)
    await waitUntil(() => ofBad().length === 2)
    expect(ofBad()).toEqual([
      ['transfer.blocked', id, 'repaired_request'],
      ['transfer.completed', id, null],
    ])
    expect((await engine.transfers.get(id))?.request).toEqual((await engine.transfers.get(before?.id ?? ''))?.request)
  })

  it('is in doubt where somebody has claimed it', async () => {
    const engine = open()
    const [good, bad] = await enqueueMany(engine, 2)
    expect(await claimReady(pool, 2)).toHaveLength(2)
    await encodeTwice(bad?.id ?? '')
    const claim = `select c.id from outlay.claim($1, array(select outlay.job_id(i) from unnest($1::text[]) i), 'other', null) c`
    expect(await rows(claim, [[good?.id, bad?.id].sort()])).toEqual([{ id: good?.id }])
    expect(
      await rows(`select stage, unknown_since is not null as in_doubt from outlay.transfer where id = $1`, [bad?.id]),
    ).toEqual([{ stage: 'blocked', in_doubt: true }])
  })

  it('stays readable where the text is of no object', async () => {
    const engine = open()
    const texts = ['not JSON', '[1]', '"twice"', '\\u0000']
    const ids = (await enqueueMany(engine, texts.length)).map((one) => one.id)
    for (const [at, text] of texts.entries())
      await rows('update outlay.transfer set request = to_jsonb($2::text) where id = $1', [ids[at], text])
    expect(await claimReady(pool)).toEqual([])
    for (const [at, text] of texts.entries())
      expect(await engine.transfers.get(ids[at] ?? '')).toMatchObject({
        stage: 'blocked',
        request: { unreadable: text },
      })
  })
})
