import type { Difference } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'
import { inspect } from '../inspection/inspection.ts'

const payout = (idempotencyKey: string, more = {}) => samplePayout('acme', { idempotencyKey, ...more })
const since = () => new Date(Date.now() - 60_000)
const kindsOf = (differences: readonly Difference[]) => differences.map(({ kind }) => kind).toSorted()

describe('a payout that was paid before a restore and has ended behind the fence', async () => {
  const host = await testHost()
  const { commit, rows, driver } = host
  const restored = restoredDatabase(host)

  /** One payout is paid, its database is restored to before, and the host cancels it behind the fence. */
  async function cancelPaid(more = {}) {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind(gateway, [payout('paid', more)])
    const [id = ''] = ids
    await commit((tx) => engine.transfers.cancel(tx, id))
    const resubmit = () => commit((tx) => engine.transfers.resubmit(tx, id))
    const reconcile = (options = {}) => engine.reconcile({ since: since(), ...options })
    return { gateway, engine, id, resubmit, reconcile }
  }
  const refusal = { code: 'conflict' }
  const ofOthers = () => rows(`select remote_id from outlay.transfer where idempotency_key like 'adopted %'`)
  const adopt = () => rows('select id from outlay.adopt_found(10)')
  const effectOf = async (id: string) =>
    (await rows('select outlay.effect_of(t) as effect from outlay.transfer t where id = $1', [id]))[0]?.effect

  it('is not resubmitted before the comparison', async () => {
    const { resubmit } = await cancelPaid()
    await expect(resubmit()).rejects.toMatchObject(refusal)
  })

  it('is not adopted as one of others, and keeps the fence up, however often it is compared', async () => {
    const { engine, id, reconcile, resubmit } = await cancelPaid()
    const planned = await reconcile({ dryRun: true })
    expect(kindsOf(planned.differences)).toEqual(['ended', 'undecided'])
    expect(await rows('select attempt from outlay.transfer')).toEqual([{ attempt: 0 }])
    for (const _ of [1, 2]) {
      const { lifted, differences } = await reconcile({ actor: 'ann' })
      expect([lifted, kindsOf(differences)]).toEqual([false, ['ended', 'undecided']])
      expect(differences.find(({ kind }) => kind === 'ended')).toMatchObject({
        ...{ transferId: id, remoteId: null, open: true, evidence: expect.stringContaining('remote-1') },
      })
    }
    expect(await ofOthers()).toEqual([])
    expect(await rows('select worker, outcome, remote_id from outlay.attempt')).toEqual([
      { worker: 'reconcile by ann', outcome: 'reconciled', remote_id: null },
    ])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'canceled', attempt: 1 })
    await expect(resubmit()).rejects.toMatchObject(refusal)
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
  })

  it('stays ended with that id in its log, where a person says that it is the one', async () => {
    const { gateway, engine, id, reconcile, resubmit } = await cancelPaid()
    await reconcile()
    const { lifted, differences } = await reconcile({ matches: { [id]: 'remote-1' }, actor: 'ann' })
    expect([lifted, kindsOf(differences)]).toEqual([true, ['identified']])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'canceled', remoteId: null })
    expect(await rows('select type from outlay.events_of($1) order by sequence', [id])).toEqual([
      { type: 'transfer.enqueued' },
      { type: 'transfer.canceled' },
    ])
    expect(await effectOf(id)).toBe('conflicting')
    await expect(resubmit()).rejects.toMatchObject({ message: expect.stringContaining('accepted') })
    const { transfers } = await inspect({ driver }).health()
    expect(transfers.acceptedLate).toMatchObject({ count: 1, samples: [id] })
    expect(transfers.endedInDoubt.count).toBe(0)
    // What is decided is decided, for every later comparison and for a watched account.
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    await commit((tx) => engine.fence(tx))
    expect(await reconcile()).toMatchObject({ lifted: true, differences: [] })
    expect(await adopt()).toEqual([])
    expect(await rows('select id from outlay.transfer')).toEqual([{ id }])
    expect(gateway.submissions).toHaveLength(1)
  })

  it('may be named at once, before it was in doubt', async () => {
    const { id, reconcile } = await cancelPaid()
    expect(await reconcile({ matches: { [id]: 'remote-1' } })).toMatchObject({
      ...{ lifted: true, differences: [{ kind: 'identified', transferId: id, remoteId: 'remote-1' }] },
    })
    expect(await effectOf(id)).toBe('conflicting')
  })

  it('stays in doubt where a person names an id that it cannot have', async () => {
    const { id, reconcile } = await cancelPaid()
    const { lifted, differences } = await reconcile({ matches: { [id]: 'remote-7' } })
    expect(lifted).toBe(false)
    expect(differences.find(({ kind }) => kind === 'ended')?.evidence).toContain('A person said')
    expect(await ofOthers()).toEqual([])
  })

  it('is the one like its note, where a person says that notes are unique', async () => {
    const { id, reconcile } = await cancelPaid({ note: 'INV-7' })
    const { lifted, differences } = await reconcile({ uniqueNotes: true })
    expect([lifted, kindsOf(differences)]).toEqual([true, ['identified']])
    expect(await effectOf(id)).toBe('conflicting')
  })

  it('is another one, where a person says that it was not paid: then that one is adopted', async () => {
    const { id, engine, reconcile, resubmit } = await cancelPaid()
    await reconcile()
    await commit((tx) => engine.transfers.resolve(tx, id, { notPaid: true, actor: 'ann', reason: 'a twin' }))
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'canceled' })
    const { lifted, differences } = await reconcile()
    expect([lifted, kindsOf(differences)]).toEqual([true, ['adopted']])
    expect(await ofOthers()).toEqual([{ remote_id: 'remote-1' }])
    expect(await resubmit()).toMatchObject({ stage: 'queued' })
  })

  it('may be resubmitted behind the fence where a person said that it was not paid: the new key then decides', async () => {
    const { id, gateway, engine, reconcile, resubmit } = await cancelPaid()
    await reconcile()
    await commit((tx) => engine.transfers.resolve(tx, id, { notPaid: true }))
    const again = await resubmit()
    const { lifted, differences } = await reconcile()
    expect([lifted, kindsOf(differences)]).toEqual([true, ['resent', 'undecided']])
    await engine.start()
    await restored.isSent(engine, again.id)
    expect(gateway.transfers.size).toBe(2)
  })

  it('stays in doubt when the fence is lifted all the same, until a person decides', async () => {
    const { id, engine, reconcile, resubmit } = await cancelPaid()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    expect(await reconcile({ acknowledge: true })).toMatchObject({ lifted: true })
    expect(await adopt()).toEqual([])
    await expect(resubmit()).rejects.toMatchObject(refusal)
    const { transfers } = await inspect({ driver }).health()
    expect(transfers.endedInDoubt).toMatchObject({
      ...{ count: 1, samples: [id], lastDetail: expect.stringContaining('remote-1') },
    })
    expect(transfers.acceptedLate.count).toBe(0)
    // Its end is older than a second fence, and its doubt counts there too.
    await commit((tx) => engine.fence(tx))
    await rows('update outlay.known_database set fenced_since = clock_timestamp()')
    expect(kindsOf((await reconcile({ acknowledge: true })).differences)).toEqual(['ended', 'undecided'])
    await rows(`update outlay.transfer set updated_at = now() - interval '500 days'`)
    expect(await rows(`select archived from outlay.archive_history('', 'Z', 86400000, 100, false)`)).toEqual([
      { archived: 0 },
    ])
    await commit((tx) => engine.transfers.resolve(tx, id, { notPaid: true }))
    expect(await adopt()).toHaveLength(1)
    expect(await resubmit()).toMatchObject({ stage: 'queued' })
  })

  it('gets the id of a person also after the fence is lifted, and no id that another one has', async () => {
    const { id, engine, reconcile, resubmit } = await cancelPaid()
    await reconcile({ acknowledge: true })
    const other = await commit((tx) => engine.transfers.enqueue(tx, payout('other')))
    await rows(`update outlay.transfer set remote_id = 'remote-9', stage = 'submitted' where id = $1`, [other.id])
    const resolve = (remoteId: string) => commit((tx) => engine.transfers.resolve(tx, id, { remoteId }))
    await expect(resolve('remote-9')).rejects.toMatchObject({ message: expect.stringContaining(other.id) })
    await resolve('remote-1')
    expect(await effectOf(id)).toBe('conflicting')
    await expect(resubmit()).rejects.toMatchObject(refusal)
    expect(await adopt()).toEqual([])
    expect(await rows('select 1 from outlay.found_transfer')).toEqual([])
    await expect(resolve('remote-1')).rejects.toMatchObject(refusal)
  })

  it('is in doubt beside a payout that waits and is like the same transfer of the service', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind(gateway, [payout('one')], [payout('one'), payout('two')])
    const [one = '', two = ''] = ids
    await commit((tx) => engine.transfers.cancel(tx, one))
    const first = await engine.reconcile({ since: since() })
    expect([first.lifted, kindsOf(first.differences)]).toEqual([false, ['ended', 'resent', 'undecided']])
    await engine.reconcile({ since: since(), matches: { [one]: 'remote-1' } })
    await engine.start()
    await restored.isSent(engine, two)
    expect((await engine.transfers.get(two))?.remoteId).toBe('remote-2')
    expect(await rows('select id from outlay.transfer')).toHaveLength(2)
  })

  it('is in doubt also when it expired before the fence was noticed', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind(gateway, [payout('late')])
    await rows(
      `update outlay.transfer set stage = 'settled', status = 'failed', failure = '{"type": "expired"}', updated_at = now()`,
    )
    const { lifted, differences } = await engine.reconcile({ since: since() })
    expect([lifted, kindsOf(differences)]).toEqual([false, ['ended', 'undecided']])
    expect(await effectOf(ids[0] ?? '')).toBe('unknown')
  })

  it('is in doubt when it ends while its account is compared', async () => {
    const gateway = listingGateway()
    const { ids } = await restored.sendAndRewind(gateway, [payout('paid')])
    const [id = ''] = ids
    let isCanceled = false
    const engine = host.open({
      gateway,
      driver: {
        ...driver,
        async query(statement, values) {
          // The rows of the account have been read by then.
          if (statement.text.includes('as found') && !isCanceled) {
            isCanceled = true
            await commit((tx) => engine.transfers.cancel(tx, id))
          }
          return driver.query(statement, values)
        },
      },
    })
    const { lifted, differences } = await engine.reconcile({ since: since() })
    expect(isCanceled).toBe(true)
    expect([lifted, kindsOf(differences)]).toEqual([false, ['ended', 'undecided']])
    expect(await effectOf(id)).toBe('unknown')
  })

  it('is in doubt where the list could not be read and the fence is lifted all the same', async () => {
    const { gateway, id, resubmit } = await cancelPaid()
    const engine = restored.make({ ...gateway, list: () => Promise.reject(new Error('closed')) })
    const reconcile = () => engine.reconcile({ since: since(), acknowledge: true })
    const open = await host.pool.connect()
    try {
      await open.query('begin')
      await open.query('select 1 from outlay.transfer where id = $1 for update', [id])
      expect(await reconcile()).toMatchObject({ lifted: false })
    } finally {
      await open.query('rollback')
      open.release()
    }
    expect(await reconcile()).toMatchObject({ lifted: true, differences: [{ kind: 'unreadable' }] })
    expect(await effectOf(id)).toBe('unknown')
    await expect(resubmit()).rejects.toMatchObject(refusal)
  })

  it('is in doubt no more when the service itself answers that it accepted it', async () => {
    const { engine, id, reconcile } = await cancelPaid()
    await reconcile()
    const accepted = { id, attempt: 1, worker: 'slow', outcome: 'accepted', remote_id: 'remote-1' }
    const answer = { ...accepted, stage: 'submitted', status: 'processing', events: [] }
    await rows('select * from outlay.settle($1, 2)', [JSON.stringify([answer])])
    expect(await effectOf(id)).toBe('conflicting')
    await expect(commit((tx) => engine.transfers.resolve(tx, id, { notPaid: true }))).rejects.toMatchObject(refusal)
    expect(await reconcile()).toMatchObject({ lifted: true, differences: [] })
    expect(await ofOthers()).toEqual([])
  })

  it('cannot be canceled any more once it was compared', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind(gateway, [payout('paid')])
    await engine.reconcile({ since: since() })
    await expect(commit((tx) => engine.transfers.cancel(tx, ids[0] ?? ''))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
  })

  it('may be resubmitted after the comparison where the service has nothing like it', async () => {
    const { gateway, engine, ids } = await unpaid()
    await engine.reconcile({ since: since() })
    expect(await commit((tx) => engine.transfers.resubmit(tx, ids[0] ?? ''))).toMatchObject({ stage: 'queued' })
    expect(gateway.submissions).toEqual([])
  })

  it('is not compared where it had ended before the restore', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind(gateway, [payout('lost')], [payout('canceled')])
    await commit((tx) => engine.transfers.cancel(tx, ids[0] ?? ''))
    await rows('update outlay.known_database set fenced_since = clock_timestamp()')
    const { lifted, differences } = await engine.reconcile({ since: since() })
    expect([lifted, kindsOf(differences)]).toEqual([true, ['adopted']])
  })

  async function unpaid() {
    const gateway = listingGateway()
    const rewound = await restored.rewind(gateway, [payout('unpaid')])
    await commit((tx) => rewound.engine.transfers.cancel(tx, rewound.ids[0] ?? ''))
    return { gateway, ...rewound }
  }
})
