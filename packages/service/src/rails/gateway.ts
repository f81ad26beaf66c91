import type { Gateway, Observation, SubmitResult, TransferStatus } from '@outlay/core'
import type { RailAnswer, RailInstruction, RailPayment, Rails } from './port.ts'

/** Reads what a rail needs to know about a transfer that the engine submits; `undefined` when there is no such transfer. */
export type ReadInstruction = (transferId: string) => Promise<RailInstruction | undefined>

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

/** Makes the engine's gateway of a set of rails. */
export function railsGateway(rails: Rails, readInstruction: ReadInstruction): Gateway {
  return {
    keyLifetimeMs: rails.keyLifetimeMs ?? Number.POSITIVE_INFINITY,
    async submit(submission, { signal, mayBegin }) {
      const instruction = await readInstruction(submission.transferId)
      if (instruction === undefined) throw new Error(`The transfer ${submission.transferId} does not exist.`)
      // Reading may have waited for a connection, for as long as a stop or another worker needs.
      if (signal.aborted || mayBegin?.() === false)
        return { outcome: 'throttled', detail: 'not sent: it may not begin any more' }
      return resultOf(await rails.submit(instruction, { signal }))
    },
    async get(_accountId, remoteId, { signal }) {
      const payment = await rails.get(remoteId, { signal })
      return payment && observationOf(payment)
    },
  }
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
