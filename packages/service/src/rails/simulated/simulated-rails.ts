import {
  type Amount,
  type Clock,
  type Logger,
  OutlayError,
  type PaymentDetails,
  type WireInstructions,
} from '@outlay/core'
import { foreignLogger } from '@outlay/core/adapter'
import type { Pool } from 'pg'
import { withinAskersShare } from '../../database/asking-client.ts'
import { batch } from '../../database/batch.ts'
import { asSystem } from '../../database/tenant.ts'
import type { RailAnswer, RailCancellation, RailInstruction, RailPayment, RailRefusal, Rails } from '../port.ts'
import { achReturnFailure } from './ach-return.ts'
import { toEastern } from './banking-day.ts'
import { createFactTicker, reportPayments } from './fact-ticker.ts'
import { findSpell } from './magic.ts'
import { planPayment, rejectionFailure } from './payment-plan.ts'
import {
  cancelPayment,
  findPayment,
  insertPayments,
  type Route,
  reschedulePayment,
  reserveReferences,
  type StoredRailPayment,
  selectPayments,
} from './rail-payments.ts'
import { imad } from './reference.ts'
import { isRepresented } from './representment.ts'
import type { StatementLine } from './statement-line.ts'
import {
  createVirtualAccounts,
  type SimulatedDeposit,
  type SimulatedVirtualAccounts,
  simulatedBank,
} from './virtual-accounts.ts'
import { createVirtualClock } from './virtual-clock.ts'

/** Controls of the simulated rails for a person or a test. Each throws `conflict` when the payment is in another state. */
export interface RailSimulation {
  /** Virtual time. */
  now(): Date
  /** Moves virtual time forward and reports everything that has become due. Resolves with the new time. */
  advance(milliseconds: number): Promise<Date>
  /** Makes a payment final now. */
  settle(transferId: string): Promise<void>
  /** Rejects a payment on the receiving side now. */
  reject(transferId: string, reason: { readonly code: string; readonly detail: string }): Promise<void>
  /** Returns a payment of a bank now, even a settled one. `code` is one of `achReturns`. */
  returnWith(transferId: string, code: string): Promise<void>
  /**
   * The other bank's statement line of a payment, with the trace number of its newest entry; `undefined` for a payment that is not
   * ACH or not at its rail yet.
   */
  findStatementLine(transferId: string): Promise<(StatementLine & { readonly traceNumber: string }) | undefined>
  /** Accepts a transfer as the Canton party that receives the offer. */
  acceptOffer(transferId: string): Promise<void>
  /** Simulates the arrival of the wire that a transfer waits for. Default amount: what it waits for. */
  receiveWire(
    transferId: string,
    wire: Pick<PaymentDetails, 'senderName' | 'senderBankName'> & { readonly amount?: string | undefined },
  ): Promise<void>
  /** The automation whose virtual account has this number; `undefined` when there is none. */
  findVirtualAccount(accountNumber: string): Promise<string | undefined>
  /** Simulates a payment to a virtual account. Resolves with the bank's reference: an IMAD or a trace number. */
  receiveDeposit(deposit: SimulatedDeposit): Promise<string>
  /** Reports what is due. Resolves with how many facts were accepted. */
  tick(): Promise<number>
}

/** Rails without banks and chains. They have the timing of real ones on a virtual clock, and keep their state in Postgres. */
export interface SimulatedRails extends Rails {
  readonly simulation: RailSimulation
}

/** Options of the simulated rails. */
export interface SimulatedRailsOptions {
  readonly pool: Pool
  readonly schema: string
  /** Real time. Virtual time is ahead of it. */
  readonly clock: Clock
  readonly logger: Logger
  /** Longest interval between two checks for due payments, in milliseconds of real time. Default 200. */
  readonly tickIntervalMs?: number | undefined
}

const made = new WeakSet<Rails>()

/**
 * The simulation of rails that are simulated as a whole: what `createSimulatedRails` has made. A copy of it with members of real rails has none, since
 * whoever has the simulation makes money.
 */
export function simulationOf(rails: Rails | SimulatedRails): RailSimulation | undefined {
  return made.has(rails) && 'simulation' in rails ? rails.simulation : undefined
}

/** Makes simulated rails. Magic inputs are listed in `magic.ts`, times in `timing.ts`. */
export function createSimulatedRails(options: SimulatedRailsOptions): SimulatedRails {
  const rails = assembleRails({ ...options, logger: foreignLogger(options.logger) })
  made.add(rails)
  return rails
}

function assembleRails(options: SimulatedRailsOptions): SimulatedRails {
  const system = asSystem(options)
  const virtualClock = createVirtualClock(options)
  const ticker = createFactTicker({ ...options, virtualClock, intervalMs: options.tickIntervalMs ?? 200 })
  const nextSequence = createSequence(() => reserveReferences(system, options))
  const virtualAccounts = createVirtualAccounts({ ...options, virtualClock, nextSequence })
  const throttled = new Set<string>()

  const submitAll = async (instructions: readonly RailInstruction[]): Promise<readonly RailAnswer[]> => {
    const now = virtualClock.now()
    const planned = []
    for (const instruction of instructions) planned.push(planPayment(instruction, now, await nextSequence()))
    const written = new Map((await insertPayments(system, options, planned)).map((row) => [row.transfer_id, row]))
    return instructions.map((instruction) => {
      const row = written.get(instruction.transferId)
      if (row === undefined) return { outcome: 'unknown', detail: 'Another submission of this payment is in progress.' }
      if (row.fresh && findSpell(instruction)?.effect === 'lose_first_answer') {
        return { outcome: 'unknown', detail: 'The answer of the rail was lost.' }
      }
      return { outcome: waiting.has(row.state) ? 'expected' : 'accepted', reference: row.reference }
    })
  }
  const submitOne = batch(submitAll, { maxSize: 200, waitMs: 2 })
  const getOne = batch(
    async (references: readonly string[]) => {
      const found = new Map((await selectPayments(system, options, references)).map((row) => [row.reference, row]))
      return references.map((reference) => found.get(reference))
    },
    { maxSize: 200, waitMs: 2 },
  )

  return {
    validate: async (instruction) => refusalOf(instruction),
    async wireInstructions(instruction, beneficiary, { signal }): Promise<WireInstructions> {
      const sequence = await withinAskersShare(options, signal, async () => {
        const next = await nextSequence()
        await insertPayments(system, options, [planPayment(instruction, virtualClock.now(), next)])
        return next
      })
      return instructionsOf(instruction, beneficiary, sequence)
    },
    async submit(instruction) {
      if (findSpell(instruction)?.effect === 'throttle_once' && !throttled.has(instruction.transferId)) {
        throttled.add(instruction.transferId)
        return { outcome: 'throttled', detail: 'The rail asks for a later retry.', retryAfterMs: 1000 }
      }
      return await submitOne(instruction)
    },
    async get(reference) {
      const row = await getOne(reference)
      return row && paymentOf(row)
    },
    cancel: async (transferId, { signal }) =>
      cancellationOf(await withinAskersShare(options, signal, () => cancelPayment(system, options, transferId))),
    virtualAccounts,
    async start(listener, virtualAccountListener) {
      ticker.start([
        reportPayments({ ...options, virtualClock, nextSequence }, listener),
        ...virtualAccounts.reporters(virtualAccountListener),
      ])
      await ticker.tick()
    },
    stop: () => ticker.stop(),
    simulation: createSimulation({ ...options, virtualClock, ticker, nextSequence, virtualAccounts }),
  }
}

function paymentOf({ reference, state, failure, route, represented_at }: StoredRailPayment): RailPayment {
  const amount = amountOf(route)
  if (state !== 'accepted') return { reference, state, failure, amount }
  return { reference, state, failure: null, amount, reachedAt: represented_at?.toISOString() }
}

function instructionsOf(
  { transferId }: RailInstruction,
  beneficiary: { readonly name: string; readonly address: string },
  sequence: number,
): WireInstructions {
  return {
    ...simulatedBank,
    beneficiaryName: beneficiary.name,
    beneficiaryAddress: beneficiary.address,
    accountNumber: `8${String(sequence).padStart(11, '0')}`,
    memo: transferId,
  }
}

/** Earlier releases wrote payments without their currency. */
function amountOf({ amount, received, currency }: Partial<Route>): Amount | undefined {
  const value = received ?? amount
  return value === undefined || currency === undefined ? undefined : { value, currency }
}

const cancellationOf = (done: boolean): RailCancellation => ({ outcome: done ? 'canceled' : 'refused' })

/** States of a payment that no money has reached. */
const waiting: ReadonlySet<RailPayment['state']> = new Set(['expected', 'canceled'])

function refusalOf(instruction: RailInstruction): RailRefusal | undefined {
  if (findSpell(instruction)?.effect !== 'refuse') return undefined
  const end = instruction.destination.bank === undefined ? 'source' : 'destination'
  const detail = 'The bank says that it has no such account.'
  return { code: 'invalid_account_number', field: `${end}.address_id`, detail }
}

interface SimulationParts extends SimulatedRailsOptions {
  readonly virtualClock: ReturnType<typeof createVirtualClock>
  readonly ticker: ReturnType<typeof createFactTicker>
  readonly nextSequence: () => Promise<number>
  readonly virtualAccounts: SimulatedVirtualAccounts
}

function createSimulation(parts: SimulationParts): RailSimulation {
  const { virtualClock, ticker, nextSequence, virtualAccounts } = parts
  type Change = Parameters<typeof reschedulePayment>[3]
  const change = async (transferId: string, wanted: Omit<Change, 'at'>): Promise<void> => {
    const at = virtualClock.now()
    if (!(await reschedulePayment(asSystem(parts), parts, transferId, { ...wanted, at }))) {
      throw new OutlayError('conflict', `The transfer is not ${wanted.from.join(' or ')} at its rail.`)
    }
    await ticker.tick()
  }
  return {
    now: () => virtualClock.now(),
    async advance(milliseconds) {
      const now = await virtualClock.advance(milliseconds)
      await ticker.tick()
      return now
    },
    settle: (transferId) => change(transferId, { from: ['accepted'], next: 'settled', failure: null }),
    async reject(transferId, { code, detail }) {
      const failure = rejectionFailure(code, detail, virtualClock.now())
      await change(transferId, { from: ['expected', 'accepted'], next: 'rejected', failure })
    },
    async returnWith(transferId, code) {
      const payment = await findPayment(asSystem(parts), parts, transferId)
      const isOnChains = payment?.route.flow === 'payout' || payment?.route.flow === 'swap'
      if (isOnChains && payment.state === 'settled')
        throw new OutlayError(
          'conflict',
          'A payment on a chain does not come back; only a payment of a bank can be returned.',
        )
      // A settled payment stays complete.
      const retriable = payment?.state === 'accepted' && isRepresented(code, payment.route, payment.presentment ?? 1)
      const failure = achReturnFailure(code, virtualClock.now(), retriable)
      if (failure === undefined) {
        throw new OutlayError('invalid_request', `The return code ${code} is unknown.`, { field: 'code' })
      }
      await change(transferId, { from: isOnChains ? ['accepted'] : ['accepted', 'settled'], next: 'returned', failure })
    },
    async findStatementLine(transferId) {
      const payment = await findPayment(asSystem(parts), parts, transferId)
      if (payment === undefined || payment.statement_line === null) return undefined
      const traceNumber = payment.source?.paymentDetails?.traceNumber ?? payment.reference
      return { ...payment.statement_line, traceNumber }
    },
    acceptOffer: (transferId) => change(transferId, { from: ['accepted'], next: 'settled', failure: null }),
    async receiveWire(transferId, { amount: received, senderName, senderBankName }) {
      const now = virtualClock.now()
      const reference = imad(toEastern(now).date, await nextSequence())
      const paymentDetails: PaymentDetails = {
        receivedAt: now.toISOString(),
        senderName: senderName ?? null,
        senderBankName: senderBankName ?? null,
        senderBankRoutingNumber: null,
        paymentReference: transferId,
        imad: reference,
      }
      const source = { transactionId: reference, paymentDetails }
      await change(transferId, { from: ['expected'], next: 'accepted', failure: null, source, received })
    },
    findVirtualAccount: (accountNumber) => virtualAccounts.findOwner(accountNumber),
    async receiveDeposit(deposit) {
      const reference = await virtualAccounts.receive(deposit)
      await ticker.tick()
      return reference
    },
    tick: () => ticker.tick(),
  }
}

/** Returns numbers that no other process uses. It reserves a thousand with one query. */
function createSequence(reserveBlock: () => Promise<number>): () => Promise<number> {
  let next = 0
  let end = 0
  let reserving: Promise<void> | undefined
  return async () => {
    while (next >= end) {
      reserving ??= reserveBlock()
        .then((block) => {
          next = block
          end = block + 1000
        })
        // Behind a failure too, such as a lost connection: the next caller asks again.
        .finally(() => {
          reserving = undefined
        })
      await reserving
    }
    next += 1
    return next - 1
  }
}
