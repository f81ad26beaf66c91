import { fileURLToPath } from 'node:url'
import type { EnqueueRequest, TransferEvent } from '@outlay/core'
import {
  inTransaction,
  listRailExceptions,
  type RailFact,
  type RailFactListener,
  resolveRailException,
  type ServiceContext,
} from '@outlay/service'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openHost } from './host.ts'
import { testSite } from './site.ts'
import { type Stage, seedClient, setStage } from './stage.ts'

// Of the same modules as the sandbox: what its rails report to.
const { applyFacts } = (await import(
  fileURLToPath(new URL('../../packages/service/dist/transfers/facts.js', import.meta.url))
)) as { readonly applyFacts: (context: ServiceContext) => RailFactListener }

describe('a service that pays another amount than was asked for', async () => {
  const { hosts, sandbox } = await testSite()
  const { context } = sandbox.service

  async function open() {
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    const logger = recordingLogger()
    const host = openHost(stage.settings(await hosts.another(), sandbox.url), { logger })
    onTestFinished(() => host.close())
    const events: TransferEvent[] = []
    host.engine.subscribe('books', ['transfer.completed', 'transfer.returned'], async (event) => {
      events.push(event)
    })
    await host.engine.start()
    /** Enqueues a transfer, and waits until the rails of the service have it. Gives both ids. */
    const send = async (request: EnqueueRequest) => {
      const { id } = await host.transaction((tx) => host.engine.transfers.enqueue(tx, request))
      await waitUntil(async () => (await remoteOf(id)) !== undefined)
      const remoteId = (await remoteOf(id)) ?? ''
      await waitUntil(async () => (await context.engine.transfers.get(remoteId))?.remoteId != null)
      return { id, remoteId }
    }
    const remoteOf = async (id: string) => (await host.engine.transfers.get(id))?.remoteId ?? undefined
    const errors = () => logger.entries.filter(({ level }) => level === 'error').map(({ message }) => message)
    return { stage, host, events, errors, send }
  }

  /** What a rail says about a payment. */
  async function factOf(
    { accountId }: Stage,
    remoteId: string,
    kind: 'accepted' | 'settled' | 'returned',
    amount: { readonly value: string; readonly currency: string },
    more: object = {},
  ): Promise<RailFact> {
    const reference = (await context.engine.transfers.get(remoteId))?.remoteId
    const failure = {
      ...{ type: 'returned', code: 'R02', detail: '', occurredAt: '2026-02-01T00:00:00Z', retriable: false },
    }
    const fact = { kind, transferId: remoteId, accountId, amount, reference, ...more }
    return { ...fact, failure: kind === 'returned' ? failure : null } as RailFact
  }

  it('says 60 of 6660.04 to the host, whose transfer, event and log have it', async () => {
    const { stage, host, events, errors, send } = await open()
    const { id, remoteId } = await send(stage.payout({ amount: { value: '6660.04', currency: 'USDC' } }))
    const paid = { value: '60', currency: 'USDC' }
    await applyFacts(context)([await factOf(stage, remoteId, 'settled', paid)])
    await inTransaction(context, async (tx) => {
      const [exception] = await listRailExceptions(tx, context, { transferId: remoteId })
      await resolveRailException(tx, context, exception?.id ?? '', { action: 'apply', by: 'ann' })
    })
    await waitUntil(() => events.length === 1)
    expect(events[0]).toMatchObject({
      type: 'transfer.completed',
      transfer: { request: { amount: { value: '6660.04' } }, paidAmount: { currency: 'USDC' } },
    })
    expect(Number(events[0]?.transfer.paidAmount?.value)).toBe(60)
    expect(Number((await host.engine.transfers.get(id))?.paidAmount?.value)).toBe(60)
    expect(errors().filter((message) => message.includes('another amount'))).toHaveLength(1)
  })

  it('says 110 of 100 to the host, who gets a return of 110 once a person has decided about it', async () => {
    const { stage, host, events, send } = await open()
    const { id, remoteId } = await send({
      accountId: stage.accountId,
      amount: { value: '100', currency: 'USD' },
      source: { valueType: 'USD', transferType: 'wire' },
      destination: { addressId: stage.walletId, valueType: 'USDC', transferType: 'base' },
    })
    const report = applyFacts({ ...context, amountPolicy: 'credit_received' })
    const received = { value: '110.00', currency: 'USD' }
    const source = { source: { transactionId: 'I1' } }
    await report([await factOf(stage, remoteId, 'accepted', received, source)])
    await report([await factOf(stage, remoteId, 'settled', received, source)])
    await waitUntil(() => events.length === 1)
    expect(Number(events[0]?.transfer.paidAmount?.value)).toBe(110)
    await report([await factOf(stage, remoteId, 'returned', received)])
    const returned = await stage.client.transfers.get(stage.accountId, remoteId)
    if (returned === undefined) throw new Error('The service does not know the transfer.')
    const { status, failure, returns } = returned
    const observation = { remoteId, status, failure, returns, transfer: returned }
    await host.transaction((tx) => host.engine.transfers.observe(tx, stage.accountId, [observation]))
    const held = await host.transaction((tx) =>
      tx.query('select identity, problem from outlay.transfer_return where transfer_id = $1', [id]),
    )
    expect(held.rows).toMatchObject([{ problem: 'exceeds_transfer' }])
    const resolution = { identity: String(held.rows[0]?.identity), amount: '110', currency: 'USD', actor: 'ann' }
    await host.transaction((tx) => host.engine.transfers.resolveReturn(tx, id, resolution))
    await waitUntil(() => events.length === 2)
    expect(events[1]).toMatchObject({ type: 'transfer.returned', transferId: id })
    expect(Number(events[1]?.returned?.amount.value)).toBe(110)
  })
})
