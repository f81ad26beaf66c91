import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { consoleHost } from '../test/host.ts'
import type { Authorization } from './authorization/authorization.ts'

const only = (accounts: readonly string[]): Authorization => ({ actor: 'olga', permissions: { read: accounts } })
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

interface Counts {
  readonly data: readonly { readonly enqueued: number; readonly gateway: string | null }[]
  readonly rolledUpTo: string | null
}

describe('the figures of the console', async () => {
  const host = await consoleHost()
  const { call, engine, enqueue, pool, commit } = host

  it('are counts of the accounts that a person may read', async () => {
    expect((await call<Counts>('GET /stats')).json).toMatchObject({ rolledUpTo: null, data: [], step: 'hour' })
    for (const accountId of ['acme', 'acme', 'bolt']) await enqueue({ accountId })
    await pool.query('select outlay.count_transfers(null)')
    for (let turn = 0; turn < 40; turn += 1)
      await pool.query(
        `select outlay.count_transfers(clock_timestamp() + interval '20 minutes' + $1 * interval '16 seconds')`,
        [turn],
      )
    const count = async (query: string, as?: Authorization) => {
      const { json } = await call<Counts>(`GET /stats?to=${inAnHour()}${query}`, as === undefined ? {} : { as })
      return json.data.reduce((sum, { enqueued }) => sum + enqueued, 0)
    }
    expect(await count('')).toBe(3)
    expect(await count('&accountId=bolt')).toBe(1)
    expect(await count('&step=day&gateway=default')).toBe(3)
    expect(await count('&gateway=other')).toBe(0)
    expect(await count('', only(['acme', 'nobody']))).toBe(2)
    expect((await call('GET /stats?accountId=bolt', { as: only(['acme']) })).status).toBe(404)
    expect((await call('GET /stats', { as: { actor: 'olga', permissions: {} } })).status).toBe(403)
    expect((await call('GET /stats?from=2020-01-01T00:00:00Z')).status).toBe(422)
  })

  it('are gateways, with whether transfers get through them', async () => {
    expect((await call('GET /gateways')).json).toEqual({ data: [] })
    await enqueue()
    expect((await call('GET /gateways')).json).toMatchObject({
      data: [{ name: 'default', state: 'troubled', waiting: 1 }],
    })
    await engine.start()
    await waitUntil(async () => (await engine.backlog()).settled === 1)
    const { json } = await call('GET /gateways')
    expect(json).toMatchObject({ data: [{ name: 'default', state: 'healthy', waiting: 0, inFlight: 0 }] })
    await commit((tx) => engine.stops.add(tx, { scope: 'gateway', name: 'default', reason: 'an audit' }))
    expect((await call('GET /gateways')).json).toMatchObject({
      data: [{ name: 'default', state: 'troubled', reason: 'Sending is stopped: an audit' }],
    })
  })

  it('are transfers as CSV, in which no cell is a formula and no text an account number', async () => {
    await enqueue({
      idempotencyKey: '=HYPERLINK("http://evil")',
      note: 'of account 123456789012',
      metadata: { order: '+1;=2' },
    })
    await enqueue({ accountId: 'bolt', idempotencyKey: 'plain' })
    const { text, headers } = await call('GET /transfers.csv')
    const rows = text.split('\r\n')
    expect(headers.get('content-disposition')).toBe('attachment; filename="transfers.csv"')
    expect(rows[0]).toMatch(/^id,account,gateway,key,amount,/)
    expect(rows).toHaveLength(3)
    expect(rows[1]).toContain(',bolt,default,plain,12.50,USD,')
    expect(rows[2]).toContain(`"'=HYPERLINK(""http://evil"")"`)
    expect(text).not.toContain('123456789012')
    expect((await call('GET /transfers.csv?accountId=acme')).text.split('\r\n')).toHaveLength(2)
    expect((await call('GET /transfers.csv', { as: only(['bolt']) })).text).not.toContain('acme')
    expect((await call('GET /transfers.csv?accountId=acme', { as: only(['bolt']) })).status).toBe(404)
    expect((await call('HEAD /transfers.csv')).status).toBe(200)
  })

  it('are the audit as CSV, with reasons, for who may see it', async () => {
    const { id } = await enqueue()
    const reject = { actor: 'ada', reason: '=wrong "invoice", of account 123456789012' }
    await commit((tx) => engine.transfers.hold(tx, id, { actor: 'olga', reason: 'first' }))
    await commit((tx) => engine.transfers.reject(tx, id, reject))
    const { text, headers } = await call('GET /audit.csv')
    const rows = text.split('\r\n')
    expect(headers.get('content-disposition')).toBe('attachment; filename="audit.csv"')
    expect(rows[0]).toBe('at,who,what,transfer,why,before,after,login,id')
    expect(rows).toHaveLength(3)
    expect(rows[1]).toContain(`,ada,transfers.reject,${id},"'=wrong ""invoice"", of account [hidden]",`)
    expect(text).not.toContain('123456789012')
    expect((await call('GET /audit.csv?actor=olga')).text.split('\r\n')).toHaveLength(2)
    expect((await call('GET /audit.csv', { as: only(['acme']) })).status).toBe(422)
    const ofMine = await call(`GET /audit.csv?transferId=${id}`, { as: only(['acme']) })
    expect(ofMine.text.split('\r\n')).toHaveLength(3)
    expect((await call(`GET /audit.csv?transferId=${id}`, { as: only(['bolt']) })).status).toBe(404)
    // Every entry once, of as many pages as it takes.
    await pool.query(
      `insert into outlay.audit (command, actor, reason, login) select 'c', 'many', n::text, 'l' from generate_series(1, 1200) n`,
    )
    const all = (await call('GET /audit.csv?actor=many')).text.split('\r\n')
    expect([all.length, new Set(all).size]).toEqual([1_201, 1_201])
  })

  it('are all transfers of a file, of as many pages as it takes, which end with the reader', async () => {
    await pool.query(`insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request, stage, status)
      select '01J' || lpad(n::text, 23, '0'), 'acme', 'k' || n, '', jsonb_build_object('amount', '{"value":"1.00","currency":"USD"}'::jsonb,
        'source', '{"valueType":"USDC","transferType":"base"}'::jsonb, 'destination', '{"valueType":"USD","transferType":"wire"}'::jsonb), 'settled', 'complete'
      from generate_series(1, 1234) n`)
    const { text } = await call('GET /transfers.csv')
    const ids = text
      .split('\r\n')
      .slice(1)
      .map((line) => line.slice(0, 26))
    expect(new Set(ids).size).toBe(1234)
    const admin = host.make({ authorize: () => ({ actor: 'ada', permissions: { read: 'all' } }) })
    const answer = await admin.fetch(new Request('http://localhost/api/transfers.csv'))
    const reader = answer.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    expect((await admin.fetch(new Request('http://localhost/api/transfers?limit=1'))).status).toBe(200)
  })
})
