import type { TransferEvidence } from '@outlay/adapters-pg'
import { Counterparty, isAdopted } from '@outlay/core'

/** The verdict on the evidence. */
export interface Verdict {
  /**
   * - `one_effect`: the service has it, once
   * - `no_effect`: nothing was sent, or the service refused it
   * - `undecided`: it is under way, and the evidence says no more
   * - `unknown`: a request left whose answer is not known; money may have moved, at most once
   * - `contradiction`: the evidence is inconsistent
   */
  readonly conclusion: 'one_effect' | 'no_effect' | 'undecided' | 'unknown' | 'contradiction'
  /** The reasons, in sentences. */
  readonly because: readonly string[]
  /** Every check, and whether it holds. */
  readonly checks: readonly { readonly check: string; readonly holds: boolean }[]
}

/** Judges the evidence about one transfer. Pure. */
export function judge(evidence: TransferEvidence): Verdict {
  const checks = runChecks(evidence)
  const broken = checks.filter((one) => !one.holds)
  if (broken.length > 0) {
    return { conclusion: 'contradiction', because: broken.map((one) => `This does not hold: ${one.check}.`), checks }
  }
  return { ...conclude(evidence), checks }
}

function runChecks({ transfer, attempts, events, eventSequence, sameRemoteId }: TransferEvidence): Verdict['checks'] {
  const counts = (numbers: readonly number[]) => numbers.every((number, index) => number === index + 1)
  const sequences = events.map((event) => event.sequence)
  const attempted = attempts.map((attempt) => attempt.attempt)
  const last = events.at(-1)
  const remoteIds = new Set(events.flatMap((event) => event.remoteId ?? []))
  return [
    {
      check: 'the request is the one that was enqueued',
      holds: Counterparty.fingerprintOf(transfer.request) === transfer.fingerprint,
    },
    { check: 'every attempt is in the log', holds: counts(attempted) && attempted.length === transfer.attempt },
    { check: 'every event is recorded', holds: counts(sequences) && sequences.length === eventSequence },
    { check: 'the last event says what the transfer says', holds: last?.status === transfer.status },
    {
      check: 'one id at the service, ever',
      holds: remoteIds.size <= 1 && [...remoteIds].every((id) => id === transfer.remoteId),
    },
    {
      check: 'the service accepted it under that id alone',
      holds:
        transfer.remoteId === null ||
        attempts.every(
          ({ outcome, remoteId }) => outcome !== 'accepted' || [null, transfer.remoteId].includes(remoteId),
        ),
    },
    { check: 'no other transfer has that id', holds: sameRemoteId.length === 0 },
    { check: 'its id at the service is that of no other transfer', holds: transfer.reason !== 'remote_id_taken' },
    {
      // A late answer changes only the log: by then somebody has canceled it, or said that it was not paid.
      check: 'nothing was accepted that ended without an id at the service',
      holds:
        transfer.stage !== 'settled' ||
        transfer.remoteId !== null ||
        !attempts.some((one) => isAcceptance(one) && !one.step),
    },
    {
      check: 'an id at the service comes from an answer that accepted',
      holds:
        transfer.remoteId === null ||
        isAdopted(transfer) ||
        attempts.some(({ outcome, step }) => (outcome === 'accepted' || isFound(outcome)) && step === undefined),
    },
  ]
}

const notPaid = 'not_paid'

/** Log lines that record a finding instead of a request. */
const isFound = (outcome: string | null) => outcome === 'reconciled' || outcome === 'resolved'

/** An answer that accepted, or a finding that the service has it. */
const isAcceptance = ({ outcome, remoteId }: TransferEvidence['attempts'][number]) =>
  outcome === 'accepted' || (isFound(outcome) && remoteId !== null)

const saidBy = ({ worker, answeredAt }: TransferEvidence['attempts'][number]) =>
  `An operator resolved it at ${answeredAt} (${worker}).`

type Conclusion = Pick<Verdict, 'conclusion' | 'because'>

/** Registering the counterparty moves no money, so only the attempts after that are judged. */
function conclude(evidence: TransferEvidence): Conclusion {
  const attempts = evidence.attempts.filter((attempt) => attempt.step === undefined)
  const registrations = evidence.attempts.length - attempts.length
  const { conclusion, because } = concludeTransfer({ ...evidence, attempts })
  if (registrations === 0) return { conclusion, because }
  const registering = `${count(registrations)} went into registering its counterparty, under a key of its own; no money moves by that.`
  return { conclusion, because: [registering, ...because] }
}

function concludeTransfer({ transfer, summary, attempts, unknownSince }: TransferEvidence): Conclusion {
  const { remoteId, stage, status, idempotencyKey } = transfer
  const found = attempts.findLast((attempt) => isFound(attempt.outcome))
  const open = attempts.filter((attempt) => attempt.outcome === null || attempt.outcome === 'unknown')
  const all = attempts.length === 1 ? 'Its one attempt' : `All ${attempts.length} attempts`
  const sameKey = `${all} carried the key ${summary.submissionKey ?? idempotencyKey}, under which the service acts only once.`
  if (isAdopted(transfer)) {
    const because = ['It was created elsewhere and the engine adopted it: no request for it ever left from here.']
    return {
      conclusion: 'one_effect',
      because: [...because, `The service has it as ${remoteId}, and it is ${status}.`],
    }
  }
  if (remoteId !== null && found !== undefined) {
    const because = [
      `${found.outcome === 'resolved' ? saidBy(found) : 'A reconciliation with the service found it.'} ${found.detail ?? ''}`.trim(),
      `The service has it as ${remoteId}, and it is ${status}.`,
    ]
    return { conclusion: 'one_effect', because }
  }
  if (remoteId !== null) {
    const lost =
      open.length === 0 ? [] : [`${count(open.length)} got no answer, and a later one with the same key did.`]
    return {
      conclusion: 'one_effect',
      because: [sameKey, ...lost, `The service has it as ${remoteId}, and it is ${status}.`],
    }
  }
  if (transfer.failure?.code === notPaid && found?.outcome === 'resolved') {
    return { conclusion: 'no_effect', because: [`${saidBy(found)} ${found.detail ?? ''}`.trim()] }
  }
  if (attempts.length === 0)
    return {
      conclusion: stage === 'settled' ? 'no_effect' : 'undecided',
      because: ['No request that moves money has ever left.'],
    }
  if (unknownSince !== null) {
    const because = [
      `Since ${unknownSince} the outcome of a request is unknown.`,
      sameKey,
      'Money moved once or not at all.',
    ]
    return { conclusion: 'unknown', because }
  }
  if (stage === 'settled' && found !== undefined && found === attempts.at(-1)) {
    // It had ended before this line was written.
    return found.outcome === 'resolved'
      ? { conclusion: 'no_effect', because: [`${saidBy(found)} ${found.detail ?? ''}`.trim()] }
      : { conclusion: 'unknown', because: [found.detail ?? 'A reconciliation found one like it at the service.'] }
  }
  if (stage === 'settled') {
    const code = transfer.failure?.code ?? status
    const lost =
      open.length === 0 ? [] : [`${count(open.length)} got no answer; the service was asked again with the same key.`]
    return {
      conclusion: 'no_effect',
      because: [sameKey, ...lost, `The last answer ended it without an effect: ${code}.`],
    }
  }
  if (open.length > 0) {
    return {
      conclusion: 'unknown',
      because: [sameKey, `${count(open.length)} got no answer. Money moved once or not at all.`],
    }
  }
  return {
    conclusion: 'undecided',
    because: [sameKey, 'Every answer so far was a refusal without an effect.'],
  }
}

const count = (attempts: number) => (attempts === 1 ? 'One attempt' : `${attempts} attempts`)
