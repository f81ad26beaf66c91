import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

describe('a transfer that the service forbids, while it accepts others of the account', async () => {
  const { pool, open, commit, enqueue } = await testHost({ max: 40 })

  function make() {
    const gateway = memoryGateway()
    const forbidden = new Set<string>()
    const state = { isRefused: false }
    gateway.script(({ transferId }) =>
      state.isRefused || forbidden.has(transferId)
        ? { outcome: 'unauthorized', detail: 'HTTP 403', httpStatus: 403 }
        : undefined,
    )
    const engine = open({ gateway, fraction: 0.001 })
    return { engine, gateway, forbidden, state, enqueue: () => enqueue(engine) }
  }
  const sent = (gateway: ReturnType<typeof memoryGateway>, id: string) =>
    gateway.submissions.filter(({ transferId }) => transferId === id).length
  const isRefused = async () => ((await pool.query('select 1 from outlay.unauthorized_account')).rowCount ?? 0) > 0

  it('does not delay its account: the next probe is another transfer', async () => {
    const { engine, forbidden, enqueue } = make()
    const first = await enqueue()
    forbidden.add(first.id)
    await engine.start()
    await waitUntil(isRefused)
    const others = [await enqueue(), await enqueue(), await enqueue()]
    await drain(engine, { until: ({ settled }) => settled === others.length })
    for (const { id } of others) expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete' })
    expect(await engine.transfers.get(first.id)).toMatchObject({ status: 'pending' })
  })

  it('backs off alone, blocks no other transfer again, and waits for a person in the end', async () => {
    const { engine, gateway, forbidden, enqueue } = make()
    const first = await enqueue()
    forbidden.add(first.id)
    await engine.start()
    await waitUntil(isRefused)
    let others = 0
    const isBlocked = async () => {
      await enqueue()
      others += 1
      await drain(engine, { until: ({ settled }) => settled === others })
      return (await engine.transfers.get(first.id))?.stage === 'blocked'
    }
    await waitUntil(isBlocked)
    expect(await engine.transfers.get(first.id)).toMatchObject({ reason: 'unauthorized', status: 'pending' })
    const events = await pool.query(`select type from outlay.event where type like 'account.%' order by occurred_at`)
    expect(events.rows.map(({ type }) => type)).toEqual(['account.credentials_refused', 'account.credentials_restored'])
    // The person who gets the permission for it releases it.
    const before = sent(gateway, first.id)
    forbidden.clear()
    await commit((tx) => engine.transfers.release(tx, first.id))
    await drain(engine)
    expect(await engine.transfers.get(first.id)).toMatchObject({ status: 'complete', attempt: before + 1 })
    expect((await pool.query('select 1 from outlay.unauthorized_transfer')).rowCount).toBe(0)
  })

  it('is not blocked while no other passes either, since the service may refuse the credentials', async () => {
    const { engine, gateway, state, enqueue } = make()
    const [one, two] = [await enqueue(), await enqueue()]
    state.isRefused = true
    await engine.start({ concurrency: 1 })
    await waitUntil(() => sent(gateway, one.id) >= 5 && sent(gateway, two.id) >= 5)
    for (const { id } of [one, two]) {
      expect(await engine.transfers.get(id)).toMatchObject({ status: 'pending', reason: 'unauthenticated' })
    }
    state.isRefused = false
    expect(await drain(engine)).toMatchObject({ settled: 2 })
  })
})
