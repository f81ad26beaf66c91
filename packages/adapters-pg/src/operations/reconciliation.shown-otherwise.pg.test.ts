import type { Difference, Gateway, Observation } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

const payout = (idempotencyKey: string, more = {}) => samplePayout('acme', { idempotencyKey, ...more })
const kindsOf = (differences: readonly Difference[]) => differences.map(({ kind }) => kind).toSorted()
const since = () => new Date(Date.now() - 60_000)

/** A transfer of the service, as another spelling of it. */
type Rewrite = (seen: Observation) => unknown

const inTransfer =
  (change: (transfer: NonNullable<Observation['transfer']>) => object): Rewrite =>
  (seen) => ({
    ...seen,
    transfer: seen.transfer && { ...seen.transfer, ...change(seen.transfer) },
  })

describe('after a restore, a payout that the service shows in another way', async () => {
  const restored = restoredDatabase(await testHost())
  const { rows, sendAndRewind, isSent } = restored

  /** Shows in its lists what this makes of its transfers. */
  function showing(rewrite: Rewrite): ReturnType<typeof listingGateway> {
    const gateway = listingGateway()
    const list: Gateway['list'] = async (accountId, options) => {
      const page = await gateway.list?.(accountId, options)
      return { observations: (page?.observations ?? []).map(rewrite) as Observation[] }
    }
    return { ...gateway, list }
  }

  it.each<[string, object, Rewrite]>([
    [
      'the source under its other name',
      {},
      inTransfer(({ source: { addressId, ...source } }) => ({
        source: { ...source, financialInstitutionId: addressId },
      })),
    ],
    ['no source', {}, inTransfer(({ source: { addressId: _, ...source } }) => ({ source }))],
    [
      'the destination in lower case',
      {},
      inTransfer(({ destination }) => ({
        destination: { ...destination, addressId: destination.addressId?.toLowerCase() },
      })),
    ],
    ['an empty note as none', { note: '' }, inTransfer(() => ({ note: null }))],
    ['a note without the space around it', { note: ' INV-7 ' }, inTransfer(() => ({ note: 'INV-7' }))],
  ])('is not taken for unsent: %s', async (_, more, rewrite) => {
    const gateway = showing(rewrite)
    const { engine, ids } = await sendAndRewind(gateway, [payout('one', more)], [payout('one', more)])
    const { differences } = await engine.reconcile({ since: since() })
    expect(kindsOf(differences)).toEqual(['resent', 'undecided'])
    await engine.start()
    await isSent(engine, ids[0] ?? '')
    await waitUntil(async () => (await rows('select 1 from outlay.found_transfer')).length === 0)
    expect(await rows('select remote_id from outlay.transfer')).toEqual([{ remote_id: 'remote-1' }])
  })

  it.each<[string, Rewrite]>([
    ['beside others', (seen) => (seen.remoteId === 'remote-1' ? { ...seen, status: 'on_hold' } : seen)],
    [
      'beside old ones',
      (seen) =>
        seen.remoteId === 'remote-1'
          ? { ...seen, status: 'on_hold' }
          : inTransfer(() => ({ createdAt: '2026-01-01T00:00:00Z' }))(seen),
    ],
  ])('in a way that cannot be read keeps the fence up, %s', async (_, rewrite) => {
    const gateway = showing(rewrite)
    const two = [payout('one'), payout('two')]
    const { engine } = await sendAndRewind(gateway, two, two)
    const { lifted, differences } = await engine.reconcile({ since: since() })
    expect(lifted).toBe(false)
    expect(differences.filter(({ kind }) => kind === 'unreadable')).toEqual([
      {
        ...{ kind: 'unreadable', accountId: 'acme', gateway: 'default', transferId: null, remoteId: null, open: true },
        evidence: expect.stringContaining('1 '),
      },
    ])
  })
})
