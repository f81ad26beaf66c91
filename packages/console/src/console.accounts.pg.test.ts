import { Id } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { type Answer, consoleHost, type Json } from '../test/host.ts'
import type { Authorization } from './authorization/authorization.ts'

const only = (accounts: readonly string[]): Authorization => ({
  actor: 'olga',
  permissions: { read: accounts, act: accounts, approve: accounts, configure: accounts },
})

interface Page {
  readonly transfers: readonly { readonly id: string }[]
  readonly nextCursor: string | null
}

describe('accounts outside of a permission', async () => {
  const { call, engine, enqueue, commit, pool, make } = await consoleHost()
  const as = only(['acme', 'bolt'])
  const reason = 'a test of accounts'
  const missing = Id.lowest(new Date())
  const plain = (text: string) => text.replaceAll(/"requestId":"[0-9a-f]+"/g, '')

  it('are not found, as if they did not exist', async () => {
    const { id } = await enqueue({ accountId: 'other' })
    const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'other' }))
    const ofAny = await commit((tx) => engine.batches.create(tx))
    const pairs = [
      ...['', '/proof'].map((end) => [`GET /transfers/${id}${end}`, `GET /transfers/${missing}${end}`]),
      ...['hold', 'release', 'cancel', 'approve', 'reject', 'resubmit', 'resolve'].map((verb) => [
        `POST /transfers/${id}/${verb}`,
        `POST /transfers/${missing}/${verb}`,
      ]),
      [`GET /batches/${batch.id}`, `GET /batches/${missing}`],
      [`GET /batches/${ofAny.id}`, `GET /batches/${missing}`],
      [`POST /batches/${ofAny.id}/cancel`, `POST /batches/${missing}/cancel`],
      ['GET /accounts/other', 'GET /accounts/nobody'],
      ['POST /accounts/other/pause', 'POST /accounts/nobody/pause'],
      ['GET /transfers?accountId=other', 'GET /transfers?accountId=nobody'],
      ['GET /transfers/totals?accountId=other', 'GET /transfers/totals?accountId=nobody'],
      ['GET /transfers/stuck?accountId=other', 'GET /transfers/stuck?accountId=nobody'],
      [`GET /audit?transferId=${id}`, `GET /audit?transferId=${missing}`],
    ] as const
    for (const [there, nowhere = ''] of pairs) {
      const [one, other] = [
        await call(there ?? '', { as, body: { reason } }),
        await call(nowhere, { as, body: { reason } }),
      ]
      expect([there, one.status]).toEqual([there, 404])
      expect(plain(one.text)).toBe(plain(other.text))
    }
    expect(await engine.audit.list()).toEqual([])
  })

  it('are in no list, count, cursor, search and bulk action', async () => {
    const own = []
    const foreign = []
    for (let at = 0; at < 6; at += 1) {
      own.push(await enqueue({ accountId: at % 2 === 0 ? 'acme' : 'bolt', metadata: { order: '7' } }))
      foreign.push(await enqueue({ accountId: 'other', metadata: { order: '7' } }))
    }
    const seen: string[] = []
    const texts: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const line: string = `GET /transfers?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`
      const { json, text }: Answer<Page> = await call<Page>(line, { as })
      seen.push(...json.transfers.map(({ id }) => id))
      texts.push(text)
      cursor = json.nextCursor
    }
    expect(seen).toEqual(own.map(({ id }) => id).toReversed())
    const filters = ['metadata[order]=7', 'currency=USD', 'stage=queued']
    for (const filter of filters) {
      const { json, text } = await call<{ transfers: Json[] }>(`GET /transfers?${filter}`, { as })
      expect(json.transfers).toHaveLength(6)
      texts.push(text)
    }
    const totals = await call<{ totals: Json[] }>('GET /transfers/totals?currency=USD', { as })
    expect(totals.json.totals).toEqual([{ currency: 'USD', status: 'pending', count: 6, amount: '75.00' }])
    texts.push((await call('GET /accounts', { as })).text, (await call('GET /batches', { as })).text)
    const bulk = await call('POST /bulk/transfers/cancel', { as, body: { filter: { currency: 'USD' }, dryRun: true } })
    expect(bulk.json).toMatchObject({ count: 6, accounts: 2 })
    texts.push(bulk.text)
    const [mine, theirs] = [own[0]?.id, foreign[0]?.id]
    await pool.query(`update outlay.transfer set remote_id = 'r-1' where id = any ($1)`, [[mine, theirs]])
    const byRemoteId = await call<Page>('GET /transfers/by-remote-id?remoteId=r-1', { as })
    expect(byRemoteId.json.transfers.map(({ id }) => id)).toEqual([mine])
    expect((await call<Page>('GET /transfers/by-remote-id?remoteId=r-1')).json.transfers).toHaveLength(2)
    texts.push(byRemoteId.text)
    const key = { idempotencyKey: 'INV-1' }
    const inMine = await enqueue(key)
    await enqueue({ ...key, accountId: 'other' })
    const inBolt = await enqueue({ ...key, accountId: 'bolt' })
    const withKey = await call<Page>('GET /transfers/with-key?idempotencyKey=INV-1', { as })
    expect(withKey.json.transfers.map(({ id }) => id)).toEqual([inBolt.id, inMine.id])
    expect((await call<Page>('GET /transfers/with-key?idempotencyKey=INV-1')).json.transfers).toHaveLength(3)
    expect((await call<Page>('GET /transfers/with-key?idempotencyKey=INV-2')).json.transfers).toEqual([])
    expect(withKey.json).toMatchObject({ isCut: false })
    // Of more accounts than are searched, others may have the key, too.
    const many = Array.from({ length: 5_000 }, (_, at) => `a-${at}`)
    const wide = make({ authorize: () => ({ ...as, permissions: { read: [...many, 'bolt'] } }) })
    const cut = await wide.fetch(new Request('http://localhost/api/transfers/with-key?idempotencyKey=INV-1'))
    expect(await cut.json()).toEqual({ transfers: [], isCut: true })
    texts.push(withKey.text)
    for (const text of texts) for (const { id } of foreign) expect(text).not.toContain(id)
    for (const text of texts) expect(text).not.toContain('other')
  })

  it('are not acted on by who may only read them', async () => {
    const { id } = await enqueue({ accountId: 'other' })
    const mixed: Authorization = { actor: 'olga', permissions: { read: 'all', act: ['acme'] } }
    const { json } = await call(`POST /transfers/${id}/cancel`, { as: mixed, body: { reason } })
    expect(json).toMatchObject({ status: 403, code: 'forbidden' })
    await enqueue()
    const filter = { currency: 'USD' }
    const dry = await call<{ count: number; digest: string }>('POST /bulk/transfers/cancel', {
      ...{ as: mixed, body: { filter, dryRun: true } },
    })
    const { count, digest } = dry.json
    const done = await call('POST /bulk/transfers/cancel', {
      ...{ as: mixed, body: { filter, expected: { count, digest }, reason } },
    })
    expect(done.json).toMatchObject({ done: true, count: 1 })
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'pending' })
  })

  it('do not show what is of several accounts', async () => {
    const lines = [
      'GET /backlog',
      'GET /doctor',
      'GET /sending',
      'GET /policies',
      'GET /subscriptions',
      'GET /dead-letters',
    ]
    for (const line of lines) expect([line, (await call(line, { as })).status]).toEqual([line, 403])
    expect((await call('GET /audit', { as })).status).toBe(422)
    expect((await call('GET /transfers/stuck', { as })).status).toBe(422)
    const { rows } = await pool.query('select from outlay.audit')
    expect(rows).toEqual([])
  })
})
