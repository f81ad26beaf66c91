import type { UnconfirmedTransfer } from '../ports/operations.ts'
import type { StoredTransfer } from '../ports/stored-transfer.ts'
import type { Transfer } from '../transfer.ts'

/** A transfer of the service that no row of its own here has the id of. */
export interface UnmatchedTransfer {
  readonly remoteId: string
  readonly transfer: Transfer
  /** True when a row has its id that was adopted: that row stands for it unless one that was enqueued here does. */
  readonly isAdopted?: boolean | undefined
}

/** A row with the transfers of the service that are like it. */
export interface Likeness {
  readonly row: UnconfirmedTransfer
  readonly remotes: readonly UnmatchedTransfer[]
  /** What a person said it is, where that cannot be. */
  readonly said?: string | undefined
}

/** What is made of the rows of one account that the service may have, and of its transfers that no row has the id of. */
export interface Matching {
  /** Rows that a transfer of the service stands for, as a person said: by its id, or since notes are unique. */
  readonly matched: readonly {
    readonly row: UnconfirmedTransfer
    readonly remote: UnmatchedTransfer
    readonly given: boolean
  }[]
  /** Rows that the service may have, and whose keys live: sent again, each gets what its key has made, or makes it. */
  readonly resent: readonly Likeness[]
  /** Rows that the service may have, and whose keys may be forgotten. */
  readonly blocked: readonly Likeness[]
  /** Transfers of the service that are like a row whose id is not known yet, and that no row has the id of. */
  readonly undecided: readonly UnmatchedTransfer[]
  /** Transfers of the service that are like no row, and that no row has the id of. */
  readonly lost: readonly UnmatchedTransfer[]
}

/** What a matching goes by beside rows and transfers. */
export interface MatchRules {
  /** Ids at the service by ids of rows, as a person has said. */
  readonly given: ReadonlyMap<string, string>
  /** How long the service keeps keys for certain, in milliseconds. */
  readonly keyLifetimeMs: number
  /** A person has said that no two transfers of the account have one note. */
  readonly uniqueNotes: boolean
  /** Since when nothing is sent, in milliseconds. A row that is younger may be one that the host had lost, under its old key. */
  readonly fencedAtMs: number
  /** In milliseconds. */
  readonly nowMs: number
}

/** How far the clocks of the host and of the service may differ, in milliseconds. */
export const clockMarginMs = 300_000

/**
 * Compares rows with transfers of the service by all that both show: amount, legs, note and time. Lists show no keys, and what is
 * like a row may be the twin of it whose row is lost, so likeness alone never settles a row. Where the key lives it need not:
 * the service tells by the key. Pure.
 */
export function matchTransfers(
  rows: readonly UnconfirmedTransfer[],
  remotes: readonly UnmatchedTransfer[],
  rules: MatchRules,
): Matching {
  const said = readGiven(rows, remotes, rules.given)
  const taken = new Set(said.map(({ remote }) => remote.remoteId))
  const decided = new Set(said.map(({ row }) => row.id))
  const free = remotes.filter(({ remoteId }) => !taken.has(remoteId))
  // What an automation made was never asked for from here.
  const byShape = Map.groupBy(
    free.filter(({ transfer }) => transfer.automationId === undefined),
    ({ transfer }) => shapeOf(transfer),
  )
  const pairs = rows
    .filter(({ id }) => !decided.has(id))
    .map((row) => ({
      row,
      remotes: (byShape.get(shapeOf(row.request)) ?? []).filter((one) => isLike(row, one, rules)),
      said: rules.given.get(row.id),
    }))
    .filter((pair) => pair.remotes.length > 0 || pair.said !== undefined)
  const claimants = new Map<string, number>()
  for (const { remoteId } of pairs.flatMap((pair) => pair.remotes))
    claimants.set(remoteId, (claimants.get(remoteId) ?? 0) + 1)
  const resent = pairs.filter((pair) => isSafeToSend(pair, rules))
  const rest = pairs.filter((pair) => !isSafeToSend(pair, rules))
  const certain = rules.uniqueNotes ? rest.flatMap((pair) => onlyOne(pair, claimants)) : []
  const matched = [...said, ...certain]
  const ids = new Set(matched.map(({ row }) => row.id))
  const given = new Set(matched.map(({ remote }) => remote.remoteId))
  const unmatched = free.filter(({ remoteId, isAdopted }) => isAdopted !== true && !given.has(remoteId))
  return {
    matched,
    resent,
    blocked: rest.filter(({ row }) => !ids.has(row.id)),
    undecided: unmatched.filter(({ remoteId }) => claimants.has(remoteId)),
    lost: unmatched.filter(({ remoteId }) => !claimants.has(remoteId)),
  }
}

/** What a person said, but for what cannot be so: the id is not in the list or is another row's, or the money differs. */
function readGiven(
  rows: readonly UnconfirmedTransfer[],
  remotes: readonly UnmatchedTransfer[],
  given: ReadonlyMap<string, string>,
): Matching['matched'] {
  const byId = new Map(remotes.map((remote) => [remote.remoteId, remote]))
  return rows.flatMap((row) => {
    const remote = byId.get(given.get(row.id) ?? '')
    return remote !== undefined && isPossible(row, remote) ? [{ row, remote, given: true }] : []
  })
}

const isPossible = ({ request }: StoredTransfer, remote: UnmatchedTransfer): boolean =>
  remote.isAdopted !== true && isSameMoney(request, remote.transfer)

/** True for a row that may have been enqueued anew: its key may be older than it. */
const isAnew = ({ createdAt }: StoredTransfer, { fencedAtMs }: Pick<MatchRules, 'fencedAtMs'>) =>
  Date.parse(createdAt) >= fencedAtMs

/** When the key of a row that was enqueued anew may have left first, as the service shows it, ISO 8601; null for any other row. */
export function firstShownAt({ row, remotes }: Likeness, rules: Pick<MatchRules, 'fencedAtMs'>): string | null {
  if (remotes.length === 0 || !isAnew(row, rules)) return null
  return remotes.map(({ transfer }) => transfer.createdAt).reduce((a, b) => (Date.parse(a) < Date.parse(b) ? a : b))
}

/** The key of a first request that may have left by now is remembered, and the host wants the transfer if none has left. */
function isSafeToSend(pair: Likeness, rules: MatchRules): boolean {
  const { stage, firstRequestAgeMs, isExpired } = pair.row
  const shownAt = firstShownAt(pair, rules)
  const shownAgeMs = shownAt === null ? 0 : rules.nowMs - Date.parse(shownAt) + clockMarginMs
  const isInDoubt = stage === 'blocked' || pair.said !== undefined
  return !isInDoubt && !isExpired && Math.max(firstRequestAgeMs, shownAgeMs) < rules.keyLifetimeMs
}

/** The one transfer that is like a row with a note, and like no other row. */
function onlyOne({ row, remotes, said }: Likeness, claimants: ReadonlyMap<string, number>): Matching['matched'] {
  const [only, ...more] = remotes
  const { note, destination } = row.request
  const isCertain =
    only !== undefined &&
    said === undefined &&
    only.isAdopted !== true &&
    more.length === 0 &&
    claimants.get(only.remoteId) === 1 &&
    (note ?? '') !== '' &&
    // Whom an unregistered counterparty would be paid through is not known here.
    destination.addressId !== undefined
  return isCertain ? [{ row, remote: only, given: false }] : []
}

type Shown = Pick<Transfer, 'amount'> & {
  readonly source: {
    readonly addressId?: string | undefined
    readonly valueType: string
    readonly transferType: string
  }
  readonly destination: {
    readonly addressId?: string | undefined
    readonly financialInstitutionId?: string | undefined
    readonly valueType: string
    readonly transferType: string
  }
}

/** What of a transfer is the same here and there, but for the address of a counterparty, which may not be known here. */
function shapeOf({ amount, source, destination }: Shown): string {
  const value = amount.value.includes('.') ? amount.value.replace(/\.?0+$/, '') : amount.value
  return [amount.currency, value, ...legOf(source), source.addressId ?? '', ...legOf(destination)]
    .join('\n')
    .toLowerCase()
}

const legOf = ({ valueType, transferType }: Shown['source']) => [valueType, transferType]

/** True when amount and legs are the same, as far as both are known. */
export function isSameMoney(request: Shown, transfer: Transfer): boolean {
  const { addressId } = request.destination
  const remoteId = transfer.destination.addressId ?? transfer.destination.financialInstitutionId
  const isSameAddress = addressId === undefined || remoteId === undefined || addressId === remoteId
  return isSameAddress && shapeOf(request) === shapeOf(transfer)
}

function isLike(row: StoredTransfer, { transfer }: UnmatchedTransfer, rules: MatchRules): boolean {
  const { request, createdAt, notBefore } = row
  if (!isSameMoney(request, transfer)) return false
  if ((request.note ?? null) !== (transfer.note ?? null)) return false
  if (isAnew(row, rules)) return true
  const earliest = Math.max(Date.parse(createdAt), notBefore === null ? 0 : Date.parse(notBefore)) - clockMarginMs
  return Date.parse(transfer.createdAt) >= earliest
}
