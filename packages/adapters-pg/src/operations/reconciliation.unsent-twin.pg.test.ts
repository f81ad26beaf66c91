import { type Difference, isAdopted, type ReconcileOptions } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

const payout = (idempotencyKey: string, more = {}) => samplePayout('acme', { idempotencyKey, ...more })
const kindsOf = (differences: readonly Difference[]) => differences.map(({ kind }) => kind).toSorted()
const since = () => new Date(Date.now() - 60_000)

describe('after a restore, a payout and its exact twin', async () => {
  const restored = restoredDatabase(await testHost())
  const { commit, rows, sendAndRewind, isSent } = restored

  const age = (hours: number) =>
    rows(`update outlay.transfer set created_at = created_at - $1 * interval '1 hour'`, [hours])
  const isAdoptedHere = (remoteId: string) =>
    waitUntil(async () => (await rows('select 1 from outlay.transfer where remote_id = $1', [remoteId])).length === 1)

  it('are both paid once where the row of the one that was paid is lost', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await sendAndRewind(gateway, [payout('lost')], [payout('kept')])
    const [kept = ''] = ids
    const planned = await engine.reconcile({ since: since(), dryRun: true })
    expect(kindsOf(planned.differences)).toEqual(['resent', 'undecided'])
    expect(await rows('select attempt, unknown_since from outlay.transfer')).toEqual([
      { attempt: 0, unknown_since: null },
    ])
    const { lifted, differences } = await engine.reconcile({ since: since(), actor: 'ann' })
    expect([lifted, kindsOf(differences)]).toEqual([true, ['resent', 'undecided']])
    expect(differences.find(({ kind }) => kind === 'resent')).toMatchObject({
      transferId: kept,
      remoteId: null,
      open: false,
    })
    expect(differences.find(({ kind }) => kind === 'undecided')).toMatchObject({
      transferId: null,
      remoteId: 'remote-1',
    })
    await engine.start()
    await isSent(engine, kept)
    expect((await engine.transfers.get(kept))?.remoteId).toBe('remote-2')
    expect(gateway.transfers.size).toBe(2)
    await isAdoptedHere('remote-1')
    const [lost] = await rows(
      `select idempotency_key as "idempotencyKey" from outlay.transfer where remote_id = 'remote-1'`,
    )
    expect(isAdopted(lost)).toBe(true)
    expect(await restored.doubled()).toEqual([])
  })

  it('are distinguished by their keys: what was sent before is not paid again, and what was lost is adopted', async () => {
    const gateway = listingGateway()
    const three = [payout('one'), payout('lost'), payout('two')]
    const { engine, ids } = await sendAndRewind(gateway, three, [payout('one'), payout('two'), payout('new')])
    await engine.reconcile({ since: since() })
    await engine.start()
    for (const id of ids) await isSent(engine, id)
    const remotes = await Promise.all(ids.map(async (id) => (await engine.transfers.get(id))?.remoteId))
    expect(remotes).toEqual(['remote-1', 'remote-3', 'remote-4'])
    await isAdoptedHere('remote-2')
    expect(gateway.transfers.size).toBe(4)
    expect(await rows(`select count(*)::integer as n from outlay.transfer`)).toEqual([{ n: 4 }])
  })

  it('are not adopted by a watched account before the keys have answered', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await sendAndRewind(gateway, [payout('kept')], [payout('kept')])
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    await commit((tx) => engine.accounts.pause(tx, 'acme'))
    await engine.reconcile({ since: since() })
    await engine.start()
    await waitUntil(async () => (await rows('select 1 from outlay.found_transfer')).length === 1)
    expect(await rows('select * from outlay.adopt_found(10)')).toEqual([])
    await commit((tx) => engine.accounts.resume(tx, 'acme'))
    await isSent(engine, ids[0] ?? '')
    await waitUntil(async () => (await rows('select 1 from outlay.found_transfer')).length === 0)
    expect(await rows(`select remote_id, idempotency_key from outlay.transfer`)).toEqual([
      { remote_id: 'remote-1', idempotency_key: 'kept' },
    ])
  })

  it.each([
    ['a gateway that declares 20 days, after two days', 20 * 24, 48],
    ['a gateway that declares none, after 23 hours', undefined, 23],
  ])('are distinguished while the key lives: %s', async (_, lifetimeHours, hours) => {
    const keyLifetimeMs = lifetimeHours === undefined ? undefined : lifetimeHours * 3_600_000
    const gateway = listingGateway({ keyLifetimeMs })
    const { engine, ids } = await sendAndRewind(
      gateway,
      [payout('lost'), payout('two')],
      [payout('one'), payout('two')],
    )
    await age(hours)
    expect((await engine.reconcile({ since: since() })).lifted).toBe(true)
    await engine.start()
    for (const id of ids) await isSent(engine, id)
    expect(gateway.transfers.size).toBe(3)
    expect(await rows(`select remote_id from outlay.transfer where idempotency_key = 'two'`)).toEqual([
      { remote_id: 'remote-2' },
    ])
  })

  it.each([
    ['a gateway that declares 20 days, after 21', 20 * 24, 21 * 24],
    ['a gateway that declares none, after 25 hours', undefined, 25],
  ])('wait for a person where the key may be forgotten: %s', async (_, lifetimeHours, hours) => {
    const keyLifetimeMs = lifetimeHours === undefined ? undefined : lifetimeHours * 3_600_000
    const gateway = listingGateway({ keyLifetimeMs })
    const note = 'INV-7'
    const { engine, ids } = await sendAndRewind(gateway, [payout('lost', { note })], [payout('kept', { note })])
    const [kept = ''] = ids
    await age(hours)
    const { lifted, differences } = await engine.reconcile({ since: since() })
    expect([lifted, kindsOf(differences)]).toEqual([false, ['blocked', 'undecided']])
    expect(await engine.transfers.get(kept)).toMatchObject({ stage: 'blocked', reason: 'reconcile', remoteId: null })
    await expect(commit((tx) => engine.transfers.cancel(tx, kept))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
    const report = await engine.reconcile({ since: since(), uniqueNotes: true })
    expect([report.lifted, kindsOf(report.differences)]).toEqual([true, ['identified']])
    expect(await engine.transfers.get(kept)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
    expect(gateway.submissions).toHaveLength(1)
  })

  it('wait for a person where there is no note that could be unique, whatever the options declare of notes', async () => {
    const gateway = listingGateway({ keyLifetimeMs: 1_000 })
    const { engine } = await sendAndRewind(gateway, [payout('lost')], [payout('kept')])
    await age(1)
    const { lifted, differences } = await engine.reconcile({ since: since(), uniqueNotes: true })
    expect([lifted, kindsOf(differences)]).toEqual([false, ['blocked', 'undecided']])
  })

  it('wait for a person where the host did not want the row any more by now', async () => {
    const gateway = listingGateway()
    const expiresAt = new Date(Date.now() + 3_600_000)
    const { engine } = await sendAndRewind(gateway, [payout('lost')], [payout('kept', { expiresAt })])
    await rows(`update outlay.transfer set expires_at = now() - interval '1 minute'`)
    expect(kindsOf((await engine.reconcile({ since: since() })).differences)).toEqual(['blocked', 'undecided'])
  })

  it('keep the age of a doubt that the backup had, and the client that sent before', async () => {
    const gateway = listingGateway({ keyLifetimeMs: 24 * 3_600_000, identify: async () => 'new' })
    const { engine, ids } = await sendAndRewind(gateway, [payout('kept')], [payout('kept')])
    await rows(
      `insert into outlay.account_client values ('acme', 'old') on conflict (account_id) do update set client = 'old'`,
    )
    await rows(`update outlay.transfer set created_at = now() - interval '3 hours'`)
    await engine.reconcile({ since: since(), actor: 'ann' })
    const [row] = await rows(`select client, unknown_since = created_at as is_old, attempt, stage from outlay.transfer`)
    expect(row).toEqual({ client: 'old', is_old: true, attempt: 1, stage: 'queued' })
    const [line] = await rows(
      "select worker, outcome, claimed_at <= now() - interval '3 hours' as is_old from outlay.attempt",
    )
    expect(line).toEqual({ worker: 'reconcile by ann', outcome: 'unknown', is_old: true })
    await engine.start()
    await reach(engine, ids[0] ?? '', { reason: 'client_changed' })
    expect(gateway.submissions).toHaveLength(1)
  })

  it('are marked once, however often the reconciliation runs', async () => {
    const gateway = listingGateway()
    const sent = [payout('lost'), payout('old', { note: 'old' })]
    const { engine } = await sendAndRewind(gateway, sent, [payout('kept'), payout('old', { note: 'old' })])
    await rows(`update outlay.transfer set created_at = now() - interval '40 days' where request ->> 'note' = 'old'`)
    for (const _ of [1, 2]) {
      const { differences, lifted } = await engine.reconcile({ since: since() })
      expect([lifted, kindsOf(differences)]).toEqual([false, ['blocked', 'resent', 'undecided', 'undecided']])
    }
    expect(await rows('select attempt from outlay.transfer')).toEqual([{ attempt: 1 }, { attempt: 1 }])
  })

  it('are distinguished where the host enqueues what it lost again, under the key of then, before the fence is lifted', async () => {
    const gateway = listingGateway()
    const { engine } = await sendAndRewind(gateway, [payout('lost'), payout('twin')], [])
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, payout('lost')))
    await rows(`update outlay.transfer set created_at = now() + interval '2 hours'`)
    await engine.reconcile({ since: since(), accounts: ['acme'] })
    await engine.start()
    await isSent(engine, id)
    expect((await engine.transfers.get(id))?.remoteId).toBe('remote-1')
    await isAdoptedHere('remote-2')
    expect(await rows('select count(*)::integer as n from outlay.transfer')).toEqual([{ n: 2 }])
    expect(gateway.transfers.size).toBe(2)
  })

  it('wait for a person where what is enqueued again may have been paid longer ago than keys live', async () => {
    const gateway = listingGateway({ keyLifetimeMs: 200_000 })
    const { engine } = await sendAndRewind(gateway, [payout('lost')], [])
    await commit((tx) => engine.transfers.enqueue(tx, payout('lost')))
    const { lifted, differences } = await engine.reconcile({ since: since() })
    expect([lifted, kindsOf(differences)]).toEqual([false, ['blocked', 'undecided']])
  })

  it.each<[string, () => Promise<unknown>]>([
    ['a person fences it', () => commit((tx) => restored.make(listingGateway()).fence(tx))],
    ['a person adopts it', () => commit((tx) => restored.make(listingGateway()).adoptDatabase(tx))],
    [
      'a worker notices that it was rewound',
      async () => {
        await rows(`update outlay.known_database set seen_at = now() - interval '1 second'`)
        await rows('select outlay.check_identity(null, null, now())')
      },
    ],
  ])('wait for a person also where it is enqueued anew before %s', async (_, fence) => {
    const gateway = listingGateway({ keyLifetimeMs: 200_000 })
    const { engine } = await sendAndRewind(gateway, [payout('lost')], [])
    await rows('update outlay.known_database set fenced_since = null, fence_reason = null')
    await commit((tx) => engine.transfers.enqueue(tx, payout('lost')))
    await fence()
    const { lifted, differences } = await engine.reconcile({ since: since() })
    expect([lifted, kindsOf(differences)]).toEqual([false, ['blocked', 'undecided']])
  })

  it.each<[string, (ids: readonly string[]) => ReconcileOptions['matches']]>([
    ['an id that the list does not show', ([one = '']) => ({ [one]: 'remote-7' })],
    ['the id of a payout of another amount', ([one = '']) => ({ [one]: 'remote-2' })],
  ])('stay fenced where a person gives %s', async (_, matches) => {
    const gateway = listingGateway()
    const other = payout('other', { amount: { value: '7.00', currency: 'USD' } })
    const { engine, ids } = await sendAndRewind(gateway, [payout('kept'), other], [payout('kept')])
    const { lifted, differences } = await engine.reconcile({ since: since(), matches: matches(ids) })
    expect(lifted).toBe(false)
    const blocked = differences.find(({ kind }) => kind === 'blocked')
    expect(blocked).toMatchObject({
      transferId: ids[0],
      open: true,
      evidence: expect.stringContaining('A person said'),
    })
    expect(await engine.transfers.get(ids[0] ?? '')).toMatchObject({ stage: 'blocked', remoteId: null })
    // Until then, the transfer that it may be is not adopted.
    expect(await rows(`select 1 from outlay.transfer where remote_id = 'remote-1'`)).toEqual([])
    const right = await engine.reconcile({ since: since(), matches: { [ids[0] ?? '']: 'remote-1' } })
    expect(right.lifted).toBe(true)
    expect(await engine.transfers.get(ids[0] ?? '')).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
  })

  it('are not given one id by a person', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await sendAndRewind(gateway, [payout('one')], [payout('one'), payout('two')])
    const matches = Object.fromEntries(ids.map((id) => [id, 'remote-1']))
    await expect(engine.reconcile({ since: since(), matches })).rejects.toMatchObject({
      ...{ code: 'invalid_request', field: 'matches' },
    })
    expect(await rows('select stage from outlay.transfer')).toEqual([{ stage: 'queued' }, { stage: 'queued' }])
  })
})
