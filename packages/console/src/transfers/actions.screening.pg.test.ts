import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway, silentLogger, waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { admin, consoleHost } from '../../test/host.ts'

interface Shown {
  readonly held: {
    readonly holds: readonly { readonly screening?: { readonly asks: number; readonly case: string } }[]
  }
}

describe('an answer to a screening', async () => {
  const host = await consoleHost()
  const { engine, call, commit } = host
  const reason = 'another person of that name'
  // Pages do not show it as it is.
  const secret = 'case 12345678901'

  /** A transfer that the screener has put on hold. */
  async function onHold(): Promise<string> {
    const policies = [{ name: 'sanctions', screen: 'the list' }]
    await commit((tx) => engine.policies.set(tx, policies, { actor: 'petra', reason: 'the law' }))
    const { id } = await host.enqueue({ createdBy: 'carl' })
    const backend = postgres<PoolClient>({ driver: pgDriver(host.pool), logger: silentLogger })
    const worker = createEngine({
      backend,
      gateway: memoryGateway(),
      screen: () => ({ result: 'hold', case: secret }),
    })
    await worker.start()
    const isOnHold = async () => (await host.pool.query('select from outlay.screening where on_hold')).rowCount === 1
    await waitUntil(isOnHold).finally(() => worker.stop())
    return id
  }
  const read = async (id: string) => {
    const { json } = await call<Shown>(`GET /transfers/${id}`)
    return json.held.holds[0]?.screening
  }
  const answer = (id: string, body: object, actor = 'ada') =>
    call(`POST /transfers/${id}/answer-screening`, { as: { ...admin, actor }, body: { reason, ...body } })

  it('lets pass what was seen, although its case is not shown, and stands in timeline and audit', async () => {
    const id = await onHold()
    const seen = await read(id)
    expect(seen?.case).not.toContain('12345678901')
    expect((await answer(id, { result: 'pass' })).status).toBe(409)
    expect((await answer(id, { result: 'pass', asks: seen?.asks }, 'Carl')).status).toBe(403)
    const passed = await answer(id, { result: 'pass', asks: seen?.asks })
    expect([passed.status, passed.json]).toMatchObject([200, { changed: true, transfer: { stage: 'queued' } }])
    expect(passed.text).not.toContain('12345678901')
    expect(await engine.audit.list({ transferId: id })).toMatchObject([
      { command: 'transfers.answer_screening', actor: 'ada', reason, after: { result: 'pass', case: secret } },
    ])
    const { json } = await call(`GET /transfers/${id}`)
    expect(json).toMatchObject({
      held: { screenings: [{ result: 'hold' }, { result: 'pass', by: 'ada', note: reason }] },
    })
  })

  it('is refused where a newer one holds it, and says so', async () => {
    const id = await onHold()
    const asks = (await read(id))?.asks
    expect((await answer(id, { result: 'hold', case: 'c-8', asks })).json).toMatchObject({ changed: true })
    const late = await answer(id, { result: 'pass', asks })
    expect([late.status, late.json]).toMatchObject([409, { detail: expect.stringContaining('A newer answer') }])
    expect((await engine.transfers.get(id))?.stage).toBe('held')
    expect((await answer(id, { result: 'pass', case: 'c-8' })).json).toMatchObject({ changed: true })
  })

  it('is refused where somebody else answers at the same time, and was first', async () => {
    const id = await onHold()
    const asks = (await read(id))?.asks
    const other = await host.pool.connect()
    try {
      await other.query('begin')
      await engine.transfers.answerScreening(other, id, { actor: 'bea', reason, result: 'hold', case: 'c-8' })
      const late = answer(id, { result: 'refuse', asks })
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await waitUntil(async () => (await host.pool.query(waiting)).rowCount === 1)
      await other.query('commit')
      expect((await late).status).toBe(409)
    } finally {
      await other.query('rollback')
      other.release()
    }
    expect((await engine.transfers.get(id))?.stage).toBe('held')
  })

  it('ends the transfer where it refuses, and changes nothing where screening holds it no more', async () => {
    const id = await onHold()
    const asks = (await read(id))?.asks
    expect((await answer(id, { result: 'refuse', asks })).json).toMatchObject({
      ...{ changed: true, transfer: { status: 'canceled', reason: 'screening_refused' } },
    })
    expect((await answer(id, { result: 'pass', asks })).json).toMatchObject({ changed: false })
    expect(await engine.audit.list({ transferId: id })).toHaveLength(1)
  })
})
