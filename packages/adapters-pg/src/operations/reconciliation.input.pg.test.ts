import type { Gateway, Observation, ReconcileOptions } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('a reconciliation', async () => {
  const { pool, open, commit } = await testHost({ max: 5 })

  const serve = (list: NonNullable<Gateway['list']>) => {
    const gateway: Gateway = { ...memoryGateway(), list }
    return open({ gateway })
  }
  const id = '01J0000000000000000000000A'

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['acknowledge', { acknowledge: 'false' }],
    ['dryRun', { dryRun: 'no' }],
    ['uniqueNotes', { uniqueNotes: 1 }],
    ['actor', { actor: 'a\0b' }],
    ['accounts', { accounts: 'acme' }],
    ['accounts.1', { accounts: ['acme', 'a b'] }],
    ['matches', { matches: { [id]: 'a\0b' } }],
    ['matches', { matches: { [id]: 5 } }],
    ['matches', { matches: [[id, 'x']] }],
    ['since', { since: 'yesterday' }],
  ])('refuses what it cannot go by, names %s, and lifts nothing', async (field, given) => {
    let read = 0
    const engine = serve(async () => {
      read += 1
      return { observations: [] }
    })
    await commit(async (tx) => {
      await engine.transfers.enqueue(tx, samplePayout('acme'))
      await engine.fence(tx)
    })
    const options = { since: new Date(), ...given } as unknown as ReconcileOptions
    await expect(engine.reconcile(options)).rejects.toMatchObject({ name: 'OutlayError', field })
    expect(read).toBe(0)
    expect((await engine.sending()).fence).not.toBeNull()
  })

  it.each<[string, (cursor: string | undefined) => string]>([
    ['goes round', (cursor) => (cursor === 'a' ? 'b' : 'a')],
    ['never ends and shows nothing', (cursor) => `${Number(cursor ?? 0) + 1}`],
  ])('does not wait for the list of one account that %s, and compares the others', async (_, next) => {
    const engine = serve(async (accountId, { cursor }) =>
      accountId === 'endless' ? { observations: [], next: next(cursor) } : { observations: [] },
    )
    await commit(async (tx) => {
      for (const accountId of ['endless', 'well']) await engine.transfers.enqueue(tx, samplePayout(accountId))
      await engine.fence(tx)
    })
    const { accounts, differences } = await engine.reconcile({ since: new Date(Date.now() - 60_000) })
    expect(accounts).toBe(2)
    expect(differences.filter(({ kind }) => kind === 'unreadable')).toMatchObject([
      { accountId: 'endless', open: true },
    ])
  })

  it.each([
    ['a day ahead', 24 * 3_600_000],
    ['as late as the reconciliation itself', 0],
  ])('compares from the fence on when it is asked for a later time, %s', async (_, aheadMs) => {
    const memory = memoryGateway()
    const createdAt = new Date(Date.now() - 3_600_000).toISOString()
    const { amount, source, destination } = samplePayout('acme')
    const lost = { id: 'lost', amount, source, destination, note: null, status: 'processing', failure: null } as const
    const transfer = { ...lost, createdAt, updatedAt: createdAt }
    const observation = { remoteId: 'lost', status: 'processing', failure: null, transfer } as unknown as Observation
    const gateway: Gateway = { ...memory, list: async () => ({ observations: [observation] }) }
    const engine = open({ gateway })
    await commit((tx) => engine.fence(tx))
    // Workers were last here two hours ago, before the lost one was sent.
    await pool.query(`update outlay.known_database set fenced_since = now() - interval '2 hours'`)
    const found = await engine.reconcile({ since: new Date(Date.now() + aheadMs), accounts: ['acme'] })
    expect(found).toMatchObject({ read: 1, differences: [{ kind: 'adopted', remoteId: 'lost' }] })
  })
})
