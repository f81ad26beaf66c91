import type { TransferEvidence } from '@outlay/adapters-pg'
import { formatFields, formatTable, printable } from '../output/table.ts'
import type { Session } from '../session/session.ts'
import { findEvidence, formatAttempts, formatDeliveries, type TransferReference } from './transfers.ts'
import { judge, type Verdict } from './verdict.ts'

/** Prints all evidence about a transfer, and the verdict. Returns the exit code: 1 for a contradiction. */
export async function proveTransfer(session: Session, reference: TransferReference): Promise<number> {
  const evidence = await findEvidence(session, reference)
  const verdict = judge(evidence)
  session.write({ verdict, ...evidence }, () => formatProof(evidence, verdict))
  return verdict.conclusion === 'contradiction' ? 1 : 0
}

const headlines = {
  one_effect: 'ONE EFFECT',
  no_effect: 'NO EFFECT',
  undecided: 'NOT DECIDED YET',
  unknown: 'NOT KNOWN',
  contradiction: 'CONTRADICTION',
} as const

function formatProof(evidence: TransferEvidence, verdict: Verdict): string {
  const { transfer, attempts, events } = evidence
  const parts = [
    formatFields([
      ['transfer', transfer.id],
      ['account', transfer.accountId],
      ['gateway', transfer.gateway],
      ['key', transfer.idempotencyKey],
      ['sent as', evidence.summary.submissionKey],
      ['client', evidence.summary.client],
      ['fingerprint', transfer.fingerprint],
      ['request', JSON.stringify(transfer.request)],
      ['stage', transfer.reason === null ? transfer.stage : `${transfer.stage} (${transfer.reason})`],
      ['status', transfer.status],
      ['at the service', transfer.remoteId],
    ]),
    attempts.length === 0 ? 'It was never sent.' : formatAttempts(attempts),
    formatTable(events, [
      ['event', (row) => `${row.sequence} ${row.type}`],
      ['at', (row) => row.occurredAt],
      ['stage', (row) => row.stage],
      ['status', (row) => row.status],
      ['at the service', (row) => row.remoteId],
    ]),
    formatReceived(evidence),
    formatTable(verdict.checks, [
      ['checked', (row) => row.check],
      ['', (row) => (row.holds ? 'holds' : 'DOES NOT HOLD')],
    ]),
    `${headlines[verdict.conclusion]}. ${verdict.because.join(' ')}`,
  ]
  if (evidence.sameRequest.length > 0) {
    parts.push(`The account asked for the same under other keys within a day: ${evidence.sameRequest.join(', ')}.`)
  }
  return parts.join('\n\n')
}

function formatReceived({ subscriptions, otherSubscriptions, deliveries }: TransferEvidence): string {
  if (subscriptions.length === 0 && otherSubscriptions.length === 0) return 'There is no subscription.'
  if (subscriptions.length === 0) {
    const others = otherSubscriptions.map(({ name, types }) => `"${name}" gets ${types.join(', ')}`)
    return printable(`No subscription gets the events that it has so far: ${others.join('; ')}.`)
  }
  if (deliveries.length > 0) return formatDeliveries(deliveries)
  return `Delivered, and acknowledged in full: ${subscriptions.join(', ')}.`
}
