import type { Gateway, Observation } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

describe('after a restore, a payout of which another amount was paid', async () => {
  const { sendAndRewind, rows, isSent, commit } = restoredDatabase(await testHost())
  const payout = samplePayout('acme', { idempotencyKey: 'rent' })
  const since = () => new Date(Date.now() - 60_000)

  /** Shows what was paid: 60 of it. */
  const paidInPart = (status: Observation['status'] = 'complete', value = '60') => {
    const gateway = listingGateway()
    const show = (one: Observation): Observation =>
      one.transfer === undefined
        ? one
        : { ...one, status, transfer: { ...one.transfer, status, amount: { ...one.transfer.amount, value } } }
    const more: Pick<Gateway, 'get' | 'list'> = {
      async get(accountId, remoteId, options) {
        const seen = await gateway.get(accountId, remoteId, options)
        return seen === undefined ? undefined : show(seen)
      },
      async list(accountId, page) {
        const read = await gateway.list?.(accountId, page)
        return { observations: read?.observations.map(show) ?? [] }
      },
    }
    return { ...gateway, ...more }
  }
  /** Its key is older than the service keeps keys. */
  const forget = () =>
    rows(
      `update outlay.transfer set unknown_since = now() - interval '30 days', attempt = 1, reason = 'outcome_unknown'`,
    )

  it('is not sent again where the service may have forgotten its key: a person decides, and may name it', async () => {
    const { engine, ids } = await sendAndRewind(paidInPart(), [payout])
    const [id = ''] = ids
    await forget()
    const { differences, lifted } = await engine.reconcile({ since: since(), actor: 'ann' })
    expect(lifted).toBe(false)
    expect(differences).toMatchObject([{ kind: 'blocked', transferId: id, open: true }, { kind: 'undecided' }])
    expect(differences[0]?.evidence).toContain('remote-1 (60 USD')
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    const named = await engine.reconcile({ since: since(), actor: 'ann', matches: { [id]: 'remote-1' } })
    expect(named.differences).toMatchObject([{ kind: 'identified', transferId: id, remoteId: 'remote-1' }])
    expect((await engine.transfers.get(id))?.remoteId).toBe('remote-1')
  })

  it('is not adopted where it is lost here and its amount is none: it stays found, with its problem', async () => {
    const { engine } = await sendAndRewind(paidInPart('complete', '1,234.50'), [payout], [])
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const { differences } = await engine.reconcile({ since: since(), actor: 'ann' })
    const evidence = expect.stringContaining('kept as found, and not adopted')
    expect(differences).toMatchObject([{ kind: 'adopted', remoteId: 'remote-1', evidence }])
    expect(await rows('select remote_id from outlay.transfer')).toEqual([])
    expect(await rows('select remote_id, problem from outlay.found_transfer')).toEqual([
      { remote_id: 'remote-1', problem: expect.stringContaining('Its amount cannot be read') },
    ])
  })

  it('is sent again where its key is alive, and gets what its key has created', async () => {
    const gateway = paidInPart()
    const { engine, ids } = await sendAndRewind(gateway, [payout])
    const { lifted } = await engine.reconcile({ since: since(), actor: 'ann' })
    expect(lifted).toBe(true)
    await engine.start()
    await isSent(engine, ids[0] ?? '')
    expect(gateway.transfers.size).toBe(1)
  })
})
