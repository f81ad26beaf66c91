import { expect, vi } from 'vitest'
import { inTransaction, type Tx } from '../src/context.ts'
import type { RailFact, RailPayment } from '../src/rails/port.ts'
import { applyFacts } from '../src/transfers/facts.ts'
import type { TransferResource } from '../src/transfers/view.ts'
import { type Books, changeOf, readBooks } from './books.ts'
import { inspect } from './inspection.ts'
import { sanctions, testPayments } from './payments.ts'
import type { TestSandbox } from './sandbox.ts'
import { sampleBankAddress } from './service.ts'
import { expectSoundLedger } from './sound-ledger.ts'

/** Makes the transfers of which tests say what their rails report and what persons decide, and what the ledger has changed since `mark`. */
export async function reportedTransfers(api: TestSandbox) {
  const payments = testPayments(api)
  const report = applyFacts(api.sandbox.service.context)
  const added = { ...sampleBankAddress, transfer_types: ['ach_credit', 'ach_debit'] }
  const path = `/accounts/${api.accountId}/addresses/external`
  const { id: bankId } = (await api.call<{ id: string }>('POST', path, { body: added })).body
  const before: { books: Books } = { books: {} }
  const bank = (rail: string) => ({ address_id: bankId, value_type: 'USD', transfer_type: rail })
  const wallet = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const create = async (flow: Flow): Promise<TransferResource> => {
    if (flow === 'wire') return await payments.wireOnramp('100.00')
    const bodies = {
      payout: { amount: usd('100'), source: wallet, destination: bank('ach_credit') },
      debit: { amount: usd('100'), source: bank('ach_debit'), destination: wallet },
      'wire in tokens': {
        amount: usdc('100'),
        source: { value_type: 'USD', transfer_type: 'wire' },
        destination: wallet,
      },
    }
    const path = `/accounts/${api.accountId}/transfers`
    const { body } = await api.call<TransferResource>('POST', path, { body: bodies[flow] })
    return flow === 'wire in tokens' ? body : await payments.reaches(body.id, 'processing')
  }

  const about = (transfer: TransferResource) => {
    const { id } = transfer
    const say = async (kind: RailFact['kind'], value: string, ...said: readonly Fields[]) => {
      const fact = await payments.factOf(transfer, kind, Object.assign({ amount: usd(value) }, ...said))
      await vi.waitFor(async () => expect(await report([fact])).toEqual(new Set([fact.reference])), { timeout: 60_000 })
    }
    const list = () => payments.exceptions({ transferId: id })
    return {
      id,
      say,
      /** Kinds, amounts and reasons of what is open. */
      open: async () => (await list()).map(({ kind, amount, reason }) => `${kind} ${Number(amount?.value)} ${reason}`),
      decide: async (index: number, action: 'apply' | 'dismiss', more = {}) =>
        await payments.resolve((await list())[index]?.id ?? '', action, more),
      /** A poll of the rail, as the engine makes it. Resolves with the status that the engine gets. */
      poll: async (said: Omit<RailPayment, 'reference'>) => await payments.poll(id, said),
      /** What a poll said that was admitted before the facts came. */
      async completeByPoll() {
        const { context } = api.sandbox.service
        await inTransaction(context, (tx) => observeComplete(tx, api, id))
        return await payments.reaches(id, 'complete')
      },
      dismissAll: async () => {
        for (const one of await list()) await payments.resolve(one.id, 'dismiss')
      },
      reaches: (status: string) => payments.reaches(id, status),
      status: async () => (await payments.read(id)).status,
      change: async () => {
        await expectSoundLedger(api.sandbox.service.context)
        return changeOf(before.books, await readBooks(api))
      },
    }
  }
  return {
    about,
    begin: async (flow: Flow) => about(await create(flow)),
    async mark() {
      before.books = await readBooks(api)
    },
    /** Waits until a transaction waits for a lock. */
    isWaiting: () => isWaiting(api),
  }
}

function isWaiting(api: TestSandbox): Promise<void> {
  const find = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  return vi.waitFor(
    async () => expect((await inspect(api.sandbox.service.context.pool).query(find)).rowCount).not.toBe(0),
    { timeout: 60_000, interval: 5 },
  )
}

/** The engine observes that a payment is complete, in the caller's transaction. */
export async function observeComplete(tx: Tx, api: TestSandbox, transferId: string): Promise<void> {
  const { engine } = api.sandbox.service.context
  const remoteId = (await engine.transfers.get(transferId))?.remoteId ?? ''
  await engine.transfers.observe(tx, api.accountId, [{ remoteId, status: 'complete', failure: null }])
}

export type Fields = Partial<RailFact>
export type Flow = 'payout' | 'debit' | 'wire' | 'wire in tokens'
export const usd = (value: string) => ({ value, currency: 'USD' })
export const usdc = (value: string) => ({ value, currency: 'USDC' })
const day = (number: number) => `2026-02-0${number}T12:00:00.000Z`
/** A mark of the payment that moves, which is that of its leg at the bank. */
export const paid = (mark: string): Fields => ({ destination: { transactionId: mark } })
export const drawn = (mark: string): Fields => ({ source: { transactionId: mark } })
export const imad = (mark: string): Fields => ({ source: { paymentDetails: { imad: mark } } })
/** The mark of a wire that leaves, where its rail names it by that alone. */
export const wired = (mark: string): Fields => ({ destination: { paymentDetails: { imad: mark } } })
export const words = (text: string): Fields => ({ source: { paymentDetails: { senderName: text } } })
export const at = (number: number): Fields => ({ reachedAt: day(number) })
export const back = (number: number, fields: Partial<NonNullable<RailFact['failure']>> = {}): Fields => ({
  failure: { ...sanctions, type: 'returned', occurredAt: day(number), ...fields },
})

/** What has moved for good, in dollars, and what is in the settlement account besides. */
export const moved = (flow: Flow, value: number, held = 0): Books => {
  const sign = flow === 'payout' ? -1 : 1
  const tokens = value === 0 ? {} : { 'custodial USDC': sign * value, 'issuer USDC': -sign * value }
  const settlement = sign * value + held
  return settlement === 0 ? tokens : { ...tokens, 'settlement USD': settlement }
}

export const refused = (reason: string) => ({ code: 'conflict', message: expect.stringContaining(reason) })
