import { describe, expect, it } from 'vitest'
import { creates, openScene } from './scene.ts'
import { testSite } from './site.ts'

const page = (body: string) => ({ contentType: 'text/plain', body })
const tokens = { method: 'POST', path: /oauth2\/token$/ } as const

// The service carries the first request out, and somebody between answers with a page of their own.
describe('a payout that was made behind a page of a proxy', async () => {
  const { hosts, sandbox } = await testSite()

  // Nothing here is about time running out, so a machine that is busy must not make it.
  const timeouts = { headersMs: 60_000, bodyMs: 60_000 }
  const open = async () => openScene(sandbox, await hosts.another(), { host: { jitter: 0.001, timeouts } })

  it.concurrent.each([
    ['no token comes for a second request', 1, { ...tokens, nth: 2, fault: { kind: 'refuse', status: 500 } }],
    ['the token for a second one is denied', 1, { ...tokens, nth: 2, fault: { kind: 'refuse', status: 401 } }],
    ['the second one gets no connection', 2, { ...creates, nth: 2, fault: { kind: 'drop_request' } }],
    [
      'the second one is refused for its token',
      2,
      { ...creates, nth: 2, fault: { kind: 'refuse', status: 401, page: page('{"code":"unauthenticated"}') } },
    ],
    [
      'the second one is refused with a code',
      2,
      { ...creates, nth: 2, fault: { kind: 'refuse', status: 400, page: page('{"code":"invalid_request"}') } },
    ],
  ] as const)('stays in doubt after a 401 where %s', async (_, requests, fault) => {
    await using scene = await open()
    scene.proxy.faults.add({ ...creates, nth: 1, fault: { kind: 'fail_after', status: 401 } })
    scene.proxy.faults.add(fault)
    const next = scene.proxy.faults.hold({ ...creates, where: () => scene.creates.length > requests })
    const { id } = await scene.enqueue()
    await scene.host.engine.start()
    await next.waitFor(1)
    const query = 'select status, unknown_since from outlay.transfer where id = $1'
    const { rows } = await scene.host.pool.query(query, [id])
    expect(rows).toEqual([{ status: 'pending', unknown_since: expect.any(Date) }])
    next.release()
    await scene.proveOne()
  })

  it.concurrent('stays in doubt after a sentence about a key that anybody may have written, until a person has it sent again', async () => {
    await using scene = await open()
    const sentence = page('This idempotency key was used for a different request')
    scene.proxy.faults.add({ ...creates, nth: 1, fault: { kind: 'fail_after', status: 422, page: sentence } })
    const { id } = await scene.enqueue()
    await scene.host.engine.start()
    await scene.reach(id, { stage: 'blocked', reason: 'idempotency_key_mismatch' })
    expect(await scene.cancel(id)).toBe(false)
    await scene.host.transaction((tx) => scene.host.engine.transfers.release(tx, id))
    await scene.proveOne()
  })

  it.concurrent('stays in doubt after a sentence about funds that anybody may have written', async () => {
    const [status, sentence] = [402, 'Insufficient funds in the plan of this proxy']
    await using scene = await open()
    scene.proxy.faults.add({ ...creates, nth: 1, fault: { kind: 'fail_after', status, page: page(sentence) } })
    const next = scene.proxy.faults.hold({ ...creates, where: () => scene.creates.length > 1 })
    const { id } = await scene.enqueue()
    await scene.host.engine.start()
    await next.waitFor(1)
    const query = 'select status, unknown_since from outlay.transfer where id = $1'
    const { rows } = await scene.host.pool.query(query, [id])
    expect(rows).toEqual([{ status: 'pending', unknown_since: expect.any(Date) }])
    next.release()
    await scene.proveOne()
  })
})
