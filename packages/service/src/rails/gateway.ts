import type { Gateway, Observation, SubmitResult, TransferStatus } from '@outlay/core'
import { isInboundWire } from './inbound-wire.ts'
import type { RailAnswer, RailInstruction, RailPayment, Rails } from './port.ts'

/**
 * Reads what a rail needs to know about a transfer that the engine submits; `undefined` when there is no such transfer.
 * @throws UnreadableInstructionError for what cannot be read of this transfer.
 */
export type ReadInstruction = (transferId: string) => Promise<RailInstruction | undefined>

/** What the gateway asks about wires that rails wait for. Only a fact with its amount moves such a transfer, never a poll. */
export interface InboundWires {
  /** Stores that a rail waits for the wire of a transfer under a reference. */
  expect(instruction: RailInstruction, reference: string): Promise<void>
  /**
   * True while a transfer waits for a wire about whose arrival no fact was applied. The transfer itself says so, whoever submitted it.
   * False for every other transfer.
   */
  isAwaited(transferId: string): Promise<boolean>
}

const statuses: Readonly<Record<RailPayment['state'], TransferStatus>> = {
  expected: 'pending',
  accepted: 'processing',
  settled: 'complete',
  rejected: 'failed',
  returned: 'failed',
  canceled: 'canceled',
}

/** Converts a payment of a rail for the engine. The rail's reference is the engine's remote id. */
export function observationOf(payment: Pick<RailPayment, 'reference' | 'state'> & Partial<RailPayment>): Observation {
  const status = statuses[payment.state]
  return {
    remoteId: payment.reference,
    status,
    failure: status === 'failed' ? (payment.failure ?? null) : null,
    ...(payment.reachedAt === undefined ? {} : { reachedAt: payment.reachedAt }),
  }
}

/**
 * Makes the engine's gateway of a set of rails. A wire that the rails wait for stays pending in polls until a fact about its arrival was
 * applied, because only a fact has the amount.
 */
export function railsGateway(rails: Rails, readInstruction: ReadInstruction, wires?: InboundWires): Gateway {
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
      // Reading may have waited for a connection, for as long as a stop or another worker needs.
      if (signal.aborted || mayBegin?.() === false)
        return { outcome: 'throttled', detail: 'not sent: it may not begin any more' }
      const answer = await rails.submit(instruction, { signal })
      if (wires === undefined || !isInboundWire(instruction) || !('reference' in answer)) return resultOf(answer)
      const { reference } = answer
      await wires.expect(instruction, reference)
      // The wire may have come before, and its fact may be held.
      return resultOf((await wires.isAwaited(instruction.transferId)) ? { outcome: 'expected', reference } : answer)
    },
    async get(_accountId, remoteId, { signal, transferId }) {
      const payment = await rails.get(remoteId, { signal })
      if (payment === undefined) return undefined
      const hasArrived = payment.state === 'accepted' || payment.state === 'settled'
      // Without the transfer nobody knows, and the payment must not move anything.
      const isAwaited = hasArrived && (transferId === undefined || (await wires?.isAwaited(transferId)) === true)
      return observationOf(isAwaited ? { reference: payment.reference, state: 'expected' } : payment)
    },
  }
}

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
