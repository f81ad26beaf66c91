import type { Observation, TransferReturn, WebhookVerifier } from '@outlay/core'
import { silentLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'

/** A verifier of webhooks whose body is the observation. */
const verifier: WebhookVerifier = { verify: async ({ body }) => JSON.parse(String(body)) as Observation }

const back = (value: string | null): TransferReturn => ({
  code: 'R10',
  amount: value === null ? null : { value, currency: 'USD' },
  occurredAt: '2026-01-09T09:00:00.000Z',
})

const minute = (count: number) => new Date(Date.UTC(2026, 0, 9, 9, count)).toISOString()

describe('a report of returns that comes late or again', async () => {
  const { open, enqueue, commit, rows } = await testHost()

  /** A complete transfer of 12.50 USD, with webhooks and readings that show it as it was at a time. */
  async function make() {
    const gateway = listedGateway()
    const engine = open({ gateway, webhooks: verifier, logger: silentLogger })
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitted' })
    const shown = (updatedAt: string | undefined, returns: readonly TransferReturn[]): Observation => {
      const { transfer } = gateway.observe('remote-1')
      const whole = transfer === undefined || updatedAt === undefined ? {} : { transfer: { ...transfer, updatedAt } }
      return { remoteId: 'remote-1', status: 'complete', failure: null, returns, ...whole }
    }
    const receive = (updatedAt: string | undefined, returns: readonly TransferReturn[]) =>
      engine.webhook({ body: JSON.stringify(shown(updatedAt, returns)), headers: {} }, { accountId: 'acme' })
    const read = (updatedAt: string | undefined, returns: readonly TransferReturn[]) =>
      commit((tx) => engine.transfers.observe(tx, 'acme', [shown(updatedAt, returns)]))
    await receive(minute(1), [])
    return { id, engine, gateway, receive, read }
  }
  const held = async () =>
    (await rows('select problem from outlay.transfer_return where sequence is null')).map(({ problem }) => problem)
  const events = async () => (await rows(`select 1 from outlay.event where type = 'transfer.returned'`)).length

  it('does not withdraw a return that is held', async () => {
    const { receive, read } = await make()
    await receive(minute(2), [back('12.51')])
    await receive(minute(1), [])
    await read(minute(1), [])
    expect(await held()).toEqual(['exceeds_transfer'])
    await read(minute(3), [])
    expect(await held()).toEqual([])
  })

  it('does not bring back a return that was corrected, nor one that was withdrawn', async () => {
    const { receive, read } = await make()
    await receive(minute(2), [back(null)])
    await receive(minute(3), [])
    await receive(minute(2), [back(null)])
    expect(await held()).toEqual([])
    await receive(minute(4), [back(null)])
    await read(minute(5), [back('4.50')])
    await receive(minute(4), [back(null)])
    expect([await held(), await events()]).toEqual([[], 1])
  })

  it('withdraws nothing by a webhook without any return that is not certainly newer, and does by a reading', async () => {
    const { receive, read } = await make()
    for (const time of [minute(2), undefined]) {
      await receive(time, [back('12.51')])
      await receive(time, [])
      expect(await held()).toEqual(['exceeds_transfer'])
      await read(minute(2), [])
      expect(await held()).toEqual([])
    }
  })

  it('is the newest one after the clock of the service was ahead for a while', async () => {
    const { receive, read } = await make()
    await receive('2199-01-01T00:00:00.000Z', [back('12.51')])
    await read(minute(3), [back('4.50')])
    expect([await held(), await events()]).toEqual([[], 1])
    await receive(minute(2), [back('12.51')])
    expect(await held()).toEqual([])
  })

  it('changes nothing of a transfer of others that waits to be adopted', async () => {
    const { engine, gateway, receive } = await make()
    await receive(minute(1), [])
    await engine.stop()
    // The database's clock is finer than the service's: what is created in the same millisecond could seem to be earlier.
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: new Date(Date.now() - 3_600_000) }))
    const { id } = gateway.add({ status: 'complete', createdAt: new Date().toISOString() })
    const seen = (updatedAt: string, returns: readonly TransferReturn[]) => {
      const { transfer } = gateway.observe(id)
      return {
        ...gateway.observe(id),
        returns,
        ...(transfer === undefined ? {} : { transfer: { ...transfer, updatedAt } }),
      }
    }
    for (const one of [seen(minute(2), [back('100')]), seen(minute(1), [])]) {
      await engine.webhook({ body: JSON.stringify(one), headers: {} }, { accountId: 'acme' })
    }
    // Neither does a report that says nothing of returns, such as a page of the list that the next worker reads first.
    await commit((tx) => engine.transfers.observe(tx, 'acme', [gateway.observe(id)]))
    const others = open({ gateway, logger: silentLogger })
    await others.start()
    await waitUntil(async () => (await events()) === 1)
  })
})
