import type { AccountReconciliation } from '../ports/operations.ts'
import type { Difference } from './reconciliation.ts'
import {
  firstShownAt,
  type Likeness,
  type Matching,
  type MatchRules,
  type UnmatchedTransfer,
} from './reconciliation-matching.ts'

/** What a matching changes of the rows, and why. */
export function describeChanges(
  { matched, resent, blocked }: Matching,
  rules: MatchRules,
): Pick<AccountReconciliation, 'transfers' | 'again'> {
  return {
    transfers: [
      ...matched.map(({ row, remote, given }) => ({
        id: row.id,
        attempt: row.attempt,
        remoteId: remote.remoteId,
        evidence: matchedEvidence(remote, given),
      })),
      ...blocked
        .filter(({ row }) => row.stage !== 'blocked' || row.reason !== 'reconcile')
        .map((one) => ({ id: one.row.id, attempt: one.row.attempt, remoteId: null, evidence: doubt(one) })),
    ],
    again: resent.map((one) => ({
      id: one.row.id,
      attempt: one.row.attempt,
      since: firstShownAt(one, rules),
      evidence: resentEvidence(one),
    })),
  }
}

/** What a matching says to a person. `isWanted` says whose transfers get rows of their own. */
export function describeDifferences(
  accountId: string,
  matching: Matching,
  isWanted: (remote: UnmatchedTransfer) => boolean,
): Difference[] {
  const about = (row: Likeness['row']) => ({ accountId, transferId: row.id, remoteId: null })
  const of = ({ remoteId }: UnmatchedTransfer) => ({ accountId, transferId: null, remoteId, open: false })
  return [
    ...matching.matched.map(({ row, remote, given }) => ({
      ...{ kind: 'identified' as const, accountId, transferId: row.id, remoteId: remote.remoteId, open: false },
      evidence: matchedEvidence(remote, given),
    })),
    ...matching.resent.map((one) => ({
      ...{ kind: 'resent' as const, ...about(one.row), open: false },
      evidence: resentEvidence(one),
    })),
    ...matching.blocked.map((one) => ({
      ...{ kind: 'blocked' as const, ...about(one.row), open: true },
      evidence: doubt(one),
    })),
    ...matching.undecided.map((remote) => ({
      ...{ kind: 'undecided' as const, ...of(remote) },
      evidence: `The service made ${tell(remote)}; a row here that has no id yet is like it.`,
    })),
    ...matching.lost.map((remote) => ({
      ...{ ...of(remote), kind: isWanted(remote) ? ('adopted' as const) : ('automated' as const) },
      evidence: `The service made ${tell(remote)}; no row here stands for it.`,
    })),
  ]
}

/** What could not be read. */
export const unreadable = (accountId: string, remoteId: string | null, evidence: string): Difference => ({
  ...{ kind: 'unreadable', accountId, transferId: null, remoteId, open: true },
  evidence,
})

const tell = ({ transfer }: UnmatchedTransfer) =>
  `${transfer.amount.value} ${transfer.amount.currency} at ${transfer.createdAt}`

const list = (remotes: readonly UnmatchedTransfer[]) =>
  remotes.map((remote) => `${remote.remoteId} (${tell(remote)})`).join(' or ')

const matchedEvidence = (remote: UnmatchedTransfer, given: boolean) =>
  given
    ? `A person said that it is ${remote.remoteId} (${tell(remote)}).`
    : `A person said that notes are unique, and it is the only one like ${remote.remoteId} (${tell(remote)}).`

const resentEvidence = ({ remotes }: Likeness) =>
  `It may be ${list(remotes)}, or the twin of it; it is sent again under its key, by which the service tells.`

const doubt = ({ row, remotes, said }: Likeness) => {
  if (said !== undefined)
    return `A person said that it is ${said}, which is no transfer of this amount and these legs in the list, or another row's.`
  const why =
    row.stage === 'blocked'
      ? `it was blocked before (${row.reason ?? 'no reason'})`
      : row.isExpired
        ? 'the time to send it is over'
        : 'the service may have forgotten its key'
  return `It may be ${list(remotes)}, or the twin of it; ${why}, so only a person can tell.`
}
