import type { AccountReconciliation } from '../ports/operations.ts'
import type { Difference } from './reconciliation.ts'
import {
  firstShownAt,
  type Likeness,
  type Matching,
  type MatchRules,
  type UnmatchedTransfer,
} from './reconciliation-matching.ts'

/** A difference without its gateway, which the reader of the list knows. */
export type Found = Omit<Difference, 'gateway'>

/** The changes to rows that a matching makes, and why. */
export function describeChanges(
  { matched, resent, blocked, ended }: Matching,
  rules: MatchRules,
): Pick<AccountReconciliation, 'transfers' | 'again' | 'ended'> {
  return {
    transfers: [
      ...matched
        .filter(({ row }) => !row.isEnded)
        .map(({ row, remote, given }) => ({
          id: row.id,
          attempt: row.attempt,
          remoteId: remote.remoteId,
          evidence: matchedEvidence(remote, given),
        })),
      ...blocked
        .filter(({ row }) => row.stage !== 'blocked' || row.reason !== 'reconcile')
        .map((one) => ({ id: one.row.id, attempt: one.row.attempt, remoteId: null, evidence: blockedEvidence(one) })),
    ],
    again: resent.map((one) => ({
      id: one.row.id,
      attempt: one.row.attempt,
      since: firstShownAt(one, rules),
      evidence: resentEvidence(one),
    })),
    ended: [
      ...matched.map(({ row, remote, given }) => ({
        id: row.id,
        remoteId: remote.remoteId,
        evidence: matchedEvidence(remote, given),
      })),
      ...[...resent, ...blocked, ...ended].map((one) => ({
        id: one.row.id,
        remoteId: null,
        evidence: endedEvidence(one),
      })),
    ],
  }
}

/** The differences that a matching reports to a person. `isWanted` says which accounts' transfers get their own rows. */
export function describeDifferences(
  accountId: string,
  matching: Matching,
  isWanted: (remote: UnmatchedTransfer) => boolean,
): Found[] {
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
      evidence: blockedEvidence(one),
    })),
    ...matching.ended.map((one) => ({
      ...{ kind: 'ended' as const, ...about(one.row), open: true },
      evidence: endedEvidence(one),
    })),
    ...matching.undecided.map((remote) => ({
      ...{ kind: 'undecided' as const, ...of(remote) },
      evidence: `The service created ${describe(remote)}; a row here that has no id is like it.`,
    })),
    ...matching.lost.map((remote) => ({
      ...{ ...of(remote), kind: isWanted(remote) ? ('adopted' as const) : ('automated' as const) },
      evidence: `The service created ${describe(remote)}; no row here stands for it.`,
    })),
  ]
}

/** A list or a transfer that could not be read. */
export const unreadable = (accountId: string, remoteId: string | null, evidence: string): Found => ({
  ...{ kind: 'unreadable', accountId, transferId: null, remoteId, open: true },
  evidence,
})

const describe = ({ transfer }: UnmatchedTransfer) =>
  `${transfer.amount.value} ${transfer.amount.currency} at ${transfer.createdAt}`

const list = (remotes: readonly UnmatchedTransfer[]) =>
  remotes.map((remote) => `${remote.remoteId} (${describe(remote)})`).join(' or ')

const matchedEvidence = (remote: UnmatchedTransfer, given: boolean) =>
  given
    ? `A person said that it is ${remote.remoteId} (${describe(remote)}).`
    : `A person said that notes are unique, and it is the only one like ${remote.remoteId} (${describe(remote)}).`

const resentEvidence = ({ remotes }: Likeness) =>
  `It may be ${list(remotes)}, or the twin of it; it is sent again under its key, and the service decides by the key.`

const endedEvidence = ({ remotes, said }: Likeness) =>
  said === undefined
    ? `It may be ${list(remotes)}, or the twin of it; it has ended here behind the fence, so a person has to decide.`
    : wrongEvidence(said)

/** Why a row is not sent that may have been handed over to another gateway. */
export const elsewhereEvidence = ({ remotes }: Likeness, gateway: string) =>
  `It may have been handed over to the gateway ${gateway}, which has ${list(remotes)} and no row here for it; a person has to decide before it is sent.`

const wrongEvidence = (said: string) =>
  `A person said that it is ${said}, which is no transfer of this amount and these legs in the list, or another row's.`

const blockedEvidence = ({ row, remotes, said }: Likeness) => {
  if (said !== undefined) return wrongEvidence(said)
  const why =
    row.stage === 'blocked'
      ? `it was blocked before (${row.reason ?? 'no reason'})`
      : row.isExpired
        ? 'the time to send it is over'
        : row.stage === 'held'
          ? 'people have not let it go here'
          : 'the service may have forgotten its key'
  return `It may be ${list(remotes)}, or the twin of it; ${why}, so a person has to decide.`
}
