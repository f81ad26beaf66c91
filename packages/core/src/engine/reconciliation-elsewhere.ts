import { atGateway, readGatewayAccount } from '../gateway-account.ts'
import type { ObserveRules } from '../ports/observations.ts'
import type { AccountReconciliation, Operations, UnconfirmedTransfer } from '../ports/operations.ts'
import type { OperatorNote } from '../ports/safety.ts'
import type { Difference } from './reconciliation.ts'
import { elsewhereEvidence, unreadable } from './reconciliation-evidence.ts'
import { type Likeness, type MatchRules, matchElsewhere, type UnmatchedTransfer } from './reconciliation-matching.ts'

/** What a comparison with other gateways goes by. */
interface Elsewhere {
  readonly operations: Pick<Operations<never>, 'unconfirmed' | 'reconcile'>
  readonly rules: ObserveRules
  readonly matchRules: MatchRules
  /** All gateways that may have something of an account. */
  readonly names: ReadonlySet<string>
  readonly fenceId: string | null
  readonly note: OperatorNote
  readonly dryRun: boolean
}

/** The result of a comparison with other gateways. */
interface FoundElsewhere {
  readonly differences: readonly Difference[]
  /** Ids of the transfers that rows of other gateways may be: none is adopted before a person decides, or acknowledges what is open. */
  readonly claimed: ReadonlySet<string>
}

/**
 * Compares what one gateway has, and no row here stands for, with the rows that wait at the other gateways of the account. A restore may have lost that
 * such a row was refused there and handed over, so it is blocked: sent again it would be paid twice where its own gateway takes it now.
 */
export async function compareElsewhere(
  given: Elsewhere,
  account: string,
  remotes: readonly UnmatchedTransfer[],
): Promise<FoundElsewhere> {
  const { gateway, accountId } = readGatewayAccount(account)
  const differences: Difference[] = []
  const claimed = new Set<string>()
  if (remotes.length === 0) return { differences, claimed }
  for (const name of given.names) {
    if (name === gateway) continue
    const at = atGateway({ gateway: name, accountId })
    const likes = matchElsewhere(await given.operations.unconfirmed(at), remotes, given.matchRules)
    for (const remote of likes.flatMap((one) => one.remotes)) claimed.add(remote.remoteId)
    if (likes.length === 0) continue
    const place = { accountId, gateway: name }
    const isWritten = given.dryRun || (await block(given, at, gateway, likes))
    if (!isWritten) differences.push({ ...unreadable(accountId, null, locked), ...place })
    differences.push(
      ...likes.map(
        (one): Difference => ({
          ...{ kind: one.row.isEnded ? 'ended' : 'blocked', transferId: one.row.id, remoteId: null, open: true },
          ...place,
          evidence: elsewhereEvidence(one, gateway),
        }),
      ),
    )
  }
  return { differences, claimed }
}

const locked =
  'Another transaction has transfers of the account locked, so nothing was written for it; reconcile again when that has ended.'

/** Blocks the rows, and puts those that have ended into doubt. False when another transaction has one locked. */
async function block(
  { operations, rules, fenceId, note }: Elsewhere,
  accountId: string,
  gateway: string,
  likes: readonly Likeness[],
): Promise<boolean> {
  const describe = (one: Likeness) => ({ id: one.row.id, remoteId: null, evidence: elsewhereEvidence(one, gateway) })
  const isWaiting = ({ isEnded, stage, reason }: UnconfirmedTransfer) =>
    !isEnded && (stage !== 'blocked' || reason !== 'reconcile')
  const change: AccountReconciliation = {
    ...{ accountId, again: [], lost: [], undecided: [], observations: [] },
    transfers: likes.filter(({ row }) => isWaiting(row)).map((one) => ({ ...describe(one), attempt: one.row.attempt })),
    ended: likes.map(describe),
  }
  return (await operations.reconcile(fenceId, change, rules, note)) !== undefined
}
