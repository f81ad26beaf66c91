import { expect, vi } from 'vitest'
import { inTransaction, type ServiceContext } from '../src/context.ts'
import {
  listRailExceptions,
  type RailException,
  type RailExceptionQuery,
} from '../src/rail-exceptions/rail-exceptions.ts'
import { type RailResolution, resolveRailException } from '../src/rail-exceptions/resolution.ts'
import { createPolledTransfers } from '../src/rail-facts/polled-transfers.ts'
import { railsGateway } from '../src/rails/gateway.ts'
import type { RailFact, RailPayment, Rails } from '../src/rails/port.ts'
import type { TransferResource } from '../src/transfers/view.ts'
import { inspect } from './inspection.ts'
import type { TestSandbox } from './sandbox.ts'

const patience = { timeout: 30_000, interval: 25 }

/** Calls about transfers of the first account of a sandbox, and facts about their payments. */
export interface TestPayments {
  /** Creates a payout of USDC that stays in progress, and waits until its rail has it. */
  payout(): Promise<TransferResource>
  /** Creates an onramp by wire, and waits until its rail expects the wire. */
  wireOnramp(amount: string): Promise<TransferResource>
  read(id: string): Promise<TransferResource>
  reaches(id: string, status: string): Promise<TransferResource>
  /** A fact that says about the payment of a transfer what its rail would. */
  factOf(transfer: TransferResource, kind: RailFact['kind'], fields?: Partial<RailFact>): Promise<RailFact>
  /** Polls the rails about a transfer, as the engine does. With `said`, the rail answers that. Resolves with the status that the engine gets. */
  poll(transferId: string, said?: Omit<RailPayment, 'reference'>): Promise<string>
  exceptions(query?: RailExceptionQuery): Promise<readonly RailException[]>
  /** Decides about an exception. */
  resolve(id: string, action: 'apply' | 'dismiss', more?: Omit<RailResolution, 'action' | 'by'>): Promise<RailException>
  /** Forgets whose wires there were, for tests whose transfers have wires of the same names. */
  forgetWires(): Promise<void>
  /** Of USDC on Base. */
  balance(): Promise<number>
}

/** A final failure of a payment. */
export const sanctions = {
  type: 'rejected',
  code: 'sanctions',
  detail: 'Held for review',
  occurredAt: '2026-01-05T00:00:00.000Z',
  retriable: false,
} as const

async function forgetWires({ pool, schema }: ServiceContext): Promise<void> {
  await inspect(pool).query(`delete from ${schema}.arrival_mark`)
}

/** Makes the calls. */
export function testPayments(api: TestSandbox): TestPayments {
  const path = `/accounts/${api.accountId}`
  const { context } = api.sandbox.service
  const wallet = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const create = async (body: object) => (await api.call<TransferResource>('POST', `${path}/transfers`, { body })).body
  const referenceOf = (id: string) =>
    vi.waitFor(async () => {
      const reference = (await context.engine.transfers.get(id))?.remoteId
      expect(reference).toEqual(expect.any(String))
      return reference ?? ''
    }, patience)
  let payee: Promise<string> | undefined
  const addPayee = async () => {
    const body = { name: 'Payee', address: '0x52908400098527886E0F7030069857D2E4169EE7', transfer_types: ['base'] }
    return (await api.call<{ id: string }>('POST', `${path}/addresses/external`, { body })).body.id
  }
  const calls: TestPayments = {
    async payout() {
      payee ??= addPayee()
      const amount = { value: '6660.04', currency: 'USDC' }
      const { id } = await create({ amount, source: wallet, destination: { ...wallet, address_id: await payee } })
      return await calls.reaches(id, 'processing')
    },
    async wireOnramp(value) {
      const source = { value_type: 'USD', transfer_type: 'wire' }
      const transfer = await create({ amount: { value, currency: 'USD' }, source, destination: wallet })
      await referenceOf(transfer.id)
      return transfer
    },
    read: async (id) => (await api.call<TransferResource>('GET', `${path}/transfers/${id}`)).body,
    reaches: (id, status) =>
      vi.waitFor(async () => {
        const transfer = await calls.read(id)
        expect(transfer.status).toBe(status)
        return transfer
      }, patience),
    async factOf({ id, amount }, kind, fields = {}) {
      const isFailure = kind === 'rejected' || kind === 'returned'
      return {
        ...{ kind, transferId: id, accountId: api.accountId, amount },
        reference: await referenceOf(id),
        failure: isFailure ? { ...sanctions, type: kind } : null,
        ...fields,
      }
    },
    async poll(transferId, said) {
      const stored = await context.engine.transfers.get(transferId)
      const get: Rails['get'] = async (reference) => ({ reference, ...(said as Omit<RailPayment, 'reference'>) })
      const rails = said === undefined ? context.rails : { ...context.rails, get }
      const gateway = railsGateway(rails, async () => undefined, createPolledTransfers(context))
      const signal = new AbortController().signal
      const seen = await gateway.get(api.accountId, stored?.remoteId ?? '', { signal, transferId })
      if (seen === undefined) throw new Error('The rails do not know the payment.')
      await inTransaction(context, (tx) => context.engine.transfers.observe(tx, api.accountId, [seen]))
      return seen.status
    },
    exceptions: (query) => inTransaction(context, (tx) => listRailExceptions(tx, context, query)),
    resolve: (id, action, more) =>
      inTransaction(context, (tx) => resolveRailException(tx, context, id, { ...more, action, by: 'ops@example.com' })),
    forgetWires: () => forgetWires(context),
    async balance() {
      const { body } = await api.call<{
        balances: { value_type: string; transfer_type: string; balance: { value: string } }[]
      }>('GET', `${path}/balances`)
      const one = body.balances.find((row) => row.value_type === 'USDC' && row.transfer_type === 'base')
      return Number(one?.balance.value ?? 0)
    },
  }
  return calls
}
