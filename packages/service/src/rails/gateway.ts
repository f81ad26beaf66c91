import type { Gateway, Observation, SubmitResult, TransferStatus } from '@outlay/core'
import { isInboundWire } from './inbound-wire.ts'
import { readPolledPayment } from './polled-payment.ts'
import type { RailAnswer, RailInstruction, RailPayment, Rails } from './port.ts'
import { railOf } from './rail-call.ts'
import { createRailReads, type RailReads } from './rail-reads.ts'
import { createRailShares, full, left, type RailShares, type SubmissionPlace } from './rail-shares.ts'

/**
 * Reads what a rail needs to know about a transfer that the engine submits; `undefined` when there is no such transfer.
 * @throws UnreadableInstructionError for what cannot be read of this transfer.
 */
export type ReadInstruction = (transferId: string) => Promise<RailInstruction | undefined>

/** What the gateway asks about transfers, so that a poll moves none otherwise than a fact would. */
export interface PolledTransfers {
  /** Stores that a rail waits for the wire of a transfer under a reference. */
  expect(instruction: RailInstruction, reference: string): Promise<void>
  /**
   * True while a transfer waits for a wire about whose arrival no fact was applied. The transfer itself says so, whoever submitted it.
   * False for every other transfer.
   */
  isAwaited(transferId: string): Promise<boolean>
  /** True where its rail has reported that the payment of a transfer is under way or settled, and no person has dismissed that. */
  mayBePaid(transferId: string): Promise<boolean>
  /** Name of the rail that has the payment of a transfer; `undefined` when there is no such transfer. */
  railOf(transferId: string): Promise<string | undefined>
  /** The payment of a transfer as far as a poll may say it: as the rail says it, or as still under way. */
  admit(transferId: string, payment: RailPayment): Promise<AdmittedPayment>
}

/** A payment, of which only the state has to be known. */
export type AdmittedPayment = Pick<RailPayment, 'reference' | 'state'> & Partial<RailPayment>

const statuses: Readonly<Record<RailPayment['state'], TransferStatus>> = {
  expected: 'pending',
  accepted: 'processing',
  settled: 'complete',
  rejected: 'failed',
  returned: 'failed',
  canceled: 'canceled',
}

/** Converts a payment of a rail for the engine. The rail's reference is the engine's remote id. */
export function observationOf(payment: AdmittedPayment): Observation {
  const status = statuses[payment.state]
  return {
    remoteId: payment.reference,
    status,
    failure: status === 'failed' ? (payment.failure ?? null) : null,
    ...(payment.reachedAt === undefined ? {} : { reachedAt: payment.reachedAt }),
  }
}

/**
 * Makes the engine's gateway of a set of rails. What a poll reads of a payment is judged as a fact is: a wire that the rails wait for stays
 * pending until a fact about its arrival was applied, and an end that a fact could not bring is none.
 */
export function railsGateway(
  rails: Rails,
  readInstruction: ReadInstruction,
  transfers?: PolledTransfers,
  shares: RailShares = createRailShares(),
  reads: RailReads = createRailReads(),
): Gateway {
  return {
    keyLifetimeMs: rails.keyLifetimeMs ?? Number.POSITIVE_INFINITY,
    async submit(submission, { signal, mayBegin }) {
      let instruction: RailInstruction | undefined
      try {
        instruction = await readInstruction(submission.transferId)
      } catch (error) {
        // Nothing has left. Thrown, it would count as a payment that may have.
        return notRead(error)
      }
      if (instruction === undefined) throw new Error(`The transfer ${submission.transferId} does not exist.`)
      const { transferId, accountId } = instruction
      const rail = railOf(instruction.flow, instruction)
      const answer = await submitInShare(shares, { rail, accountId }, signal, async () => {
        // Reading may have waited for a connection, and the rail for a place, for as long as a stop or another worker needs.
        if (signal.aborted || mayBegin?.() === false) return notBegun
        return await rails.submit(instruction, { signal })
      })
      if (transfers === undefined) return resultOf(answer)
      // Such as that of a request whose answer was lost: the rail refuses its repeat.
      if (answer.outcome === 'rejected' && (await transfers.mayBePaid(transferId))) return contradicted(answer)
      if (!isInboundWire(instruction) || !('reference' in answer)) return resultOf(answer)
      const { reference } = answer
      await transfers.expect(instruction, reference)
      // The wire may have come before, and its fact may be held.
      return resultOf((await transfers.isAwaited(transferId)) ? { outcome: 'expected', reference } : answer)
    },
    async get(_accountId, remoteId, { signal, transferId }) {
      const read = () => rails.get(remoteId, { signal })
      const rail = transferId === undefined ? undefined : await transfers?.railOf(transferId)
      const said = rail === undefined ? await read() : await reads.enter(rail, signal, read)
      if (said === undefined) return undefined
      const payment = readPolledPayment(said)
      if (transfers === undefined) return observationOf(payment)
      // Without the transfer nobody knows, and the payment must not move anything.
      const { reference } = payment
      if (transferId === undefined) return observationOf({ reference, state: 'expected' })
      return observationOf(await transfers.admit(transferId, payment))
    },
  }
}

/** A person has to say what became of it. */
const contradicted = ({ code }: { readonly code: string }): SubmitResult => ({
  outcome: 'unknown',
  detail: `refused (${code}), and reported as paid or under way`,
})

const notBegun: RailAnswer = { outcome: 'throttled', detail: 'not sent: it may not begin any more' }

/** Without a place nothing has left. Thrown, it would count as a payment that may have. */
async function submitInShare(
  shares: RailShares,
  place: SubmissionPlace,
  signal: AbortSignal,
  submit: () => Promise<RailAnswer>,
): Promise<RailAnswer> {
  const answer = await shares.enter(place, signal, submit)
  if (answer === left) return notBegun
  return answer === full ? { outcome: 'throttled', detail: busyDetail(place), retryAfterMs: busyMs } : answer
}

/** How long a transfer waits that finds no place at its rail, in milliseconds. */
const busyMs = 5_000

const busyDetail = ({ rail }: SubmissionPlace) =>
  `not sent: too many submissions to the rail ${rail} wait for its answer; it is sent once some have one`

/** What is stored of a transfer cannot be read, such as an account number that was sealed with a key which is not there. */
export class UnreadableInstructionError extends Error {
  override readonly name = 'UnreadableInstructionError'

  constructor(options: { readonly cause: unknown }) {
    super('What is stored of the transfer cannot be read.', options)
  }
}

/** How long one that cannot be read waits until it is tried again, in milliseconds: a person has to act. */
const unreadableMs = 60_000

/** The message of an error of the database can quote a row, so only its name is passed on. */
function notRead(error: unknown): SubmitResult {
  if (error instanceof UnreadableInstructionError) {
    const detail = 'not sent: its bank account or another part of it cannot be read; give the service all its keys'
    return { outcome: 'throttled', detail, retryAfterMs: unreadableMs }
  }
  const name = error instanceof Error ? error.name : typeof error
  return { outcome: 'throttled', detail: `not sent: the database did not give the transfer (${name})` }
}

function resultOf(answer: RailAnswer): SubmitResult {
  switch (answer.outcome) {
    case 'accepted':
    case 'expected': {
      const { reference, outcome } = answer
      return { outcome: 'accepted', remoteId: reference, observation: observationOf({ reference, state: outcome }) }
    }
    case 'rejected':
      // A rail identifies a payment by its transfer, so it has checked whether one exists.
      return { ...answer, keyEvaluated: true }
    default:
      return answer
  }
}
