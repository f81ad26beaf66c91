import type { UnconfirmedTransfer } from '../ports/operations.ts'
import type { StoredTransfer } from '../ports/stored-transfer.ts'
import type { Transfer } from '../transfer.ts'
import { lastSendMs } from './submission.ts'

/** A transfer of the service whose id no enqueued row here has. */
export interface UnmatchedTransfer {
  readonly remoteId: string
  readonly transfer: Transfer
  /** True when an adopted row has its id: that row stands for it unless a row that was enqueued here does. */
  readonly isAdopted?: boolean | undefined
}

/** A row and the transfers of the service that are like it. */
export interface Likeness {
  readonly row: UnconfirmedTransfer
  readonly remotes: readonly UnmatchedTransfer[]
  /** The id that a person gave for it, if that cannot be right. */
  readonly said?: string | undefined
}

/** The result for the rows of one account that the service may have, and for its transfers whose ids no row has. */
export interface Matching {
  /** Rows that a transfer of the service stands for, as a person said: by its id, or because notes are unique. */
  readonly matched: readonly {
    readonly row: UnconfirmedTransfer
    readonly remote: UnmatchedTransfer
    readonly given: boolean
  }[]
  /**
   * Rows that the service may have and whose keys are alive. They are sent again: each gets the transfer that its key created,
   * or creates it.
   */
  readonly resent: readonly Likeness[]
  /** Rows that the service may have and whose keys may be forgotten. */
  readonly blocked: readonly Likeness[]
  /** Rows that the service may have and that have ended here. */
  readonly ended: readonly Likeness[]
  /** Transfers of the service whose ids no row has, and that are like a row whose id is not known yet. */
  readonly undecided: readonly UnmatchedTransfer[]
  /** Transfers of the service whose ids no row has, and that are like no row. */
  readonly lost: readonly UnmatchedTransfer[]
}

/** The rules of a matching, beside rows and transfers. */
export interface MatchRules {
  /** Ids at the service by row id, as a person said. */
  readonly given: ReadonlyMap<string, string>
  /** How long the service certainly keeps keys, in milliseconds. */
  readonly keyLifetimeMs: number
  /** True when a person said that no two transfers of the account have the same note. */
  readonly uniqueNotes: boolean
  /** Since when nothing is sent, in milliseconds. A younger row may be one that the host had lost, under its old key. */
  readonly fencedAtMs: number
  /** In milliseconds. */
  readonly nowMs: number
}

/** How far the clocks of the host and of the service may differ, in milliseconds. */
export const clockMarginMs = 300_000

/**
 * Compares rows with transfers of the service by everything that both show: amount, legs, note and time. Lists show no keys,
 * and a transfer like a row may come from a twin of that row which was lost. So likeness alone never settles a row. Where the
 * key is alive it need not: the service decides by the key. Pure.
 */
export function matchTransfers(
  rows: readonly UnconfirmedTransfer[],
  remotes: readonly UnmatchedTransfer[],
  rules: MatchRules,
): Matching {
  const said = readGiven(rows, remotes, rules.given)
  const used = new Set(said.map(({ remote }) => remote.remoteId))
  const decided = new Set(said.map(({ row }) => row.id))
  const free = remotes.filter(({ remoteId }) => !used.has(remoteId))
  // No request from here leads to a transfer that an automation created.
  const findAlike = searchBy(
    free.filter(({ transfer }) => transfer.automationId === undefined),
    shapeOf,
  )
  const open = rows
    .filter(({ id }) => !decided.has(id))
    .map((row) => ({
      row,
      remotes: findAlike(row).filter((one) => isLike(row, one, rules)),
      said: rules.given.get(row.id),
    }))
  const isClear = (pair: Likeness) => pair.remotes.length > 0 || pair.said !== undefined
  const findPaid = searchBy(free.filter(isPaid), legsOf)
  // The service shows what was paid, which may be another amount than was asked for.
  const pairs = open
    .map((pair) =>
      isClear(pair)
        ? pair
        : { ...pair, remotes: findPaid(pair.row).filter((one) => isPaidOtherwise(pair, one, rules)) },
    )
    .filter(isClear)
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
    blocked: rest.filter(({ row }) => !ids.has(row.id) && !row.isEnded),
    ended: rest.filter(({ row }) => !ids.has(row.id) && row.isEnded),
    undecided: unmatched.filter(({ remoteId }) => claimants.has(remoteId)),
    lost: unmatched.filter(({ remoteId }) => !claimants.has(remoteId)),
  }
}

/** True of a transfer that may show what was paid instead of what was asked for. */
const isPaid = ({ transfer }: UnmatchedTransfer): boolean =>
  transfer.automationId === undefined && transfer.status === 'complete'

/** What finds those of many transfers that may be like a row: of one shape, note and payee, as far as both sides know the payee. */
function searchBy(
  remotes: readonly UnmatchedTransfer[],
  shape: (shown: Shown) => string,
): (row: Pick<StoredTransfer, 'request'>) => readonly UnmatchedTransfer[] {
  const keyOf = (shown: Shown & { readonly note?: string | null | undefined }) => `${shape(shown)}\n${noteOf(shown)}`
  const payeeOf = ({ destination }: Shown) => addressOf(destination) ?? ''
  const alike = Map.groupBy(remotes, ({ transfer }) => keyOf(transfer))
  const byPayee = Map.groupBy(remotes, ({ transfer }) => `${keyOf(transfer)}\n${payeeOf(transfer)}`)
  return ({ request }) => {
    const [key, payee] = [keyOf(request), payeeOf(request)]
    if (payee === '') return alike.get(key) ?? []
    return [payee, ''].flatMap((one) => byPayee.get(`${key}\n${one}`) ?? [])
  }
}

/**
 * Rows that wait at another gateway and may have been handed over to this one, whose transfer without a row is like them, but perhaps for the amount,
 * which was paid. One that its own gateway has registered has another address here. Pure.
 */
export function matchElsewhere(
  rows: readonly UnconfirmedTransfer[],
  remotes: readonly UnmatchedTransfer[],
  rules: MatchRules,
): readonly Likeness[] {
  const findAlike = searchBy(remotes, shapeOf)
  const findPaid = searchBy(remotes.filter(isPaid), legsOf)
  return rows
    .map((row) => {
      const here = withoutOwnId(row)
      const likes = findAlike(here).filter((one) => isLike(here, one, rules))
      const found = likes.length > 0 ? likes : findPaid(here).filter((one) => isLike(asPaid(here, one), one, rules))
      return { row, remotes: found }
    })
    .filter((pair) => pair.remotes.length > 0)
}

function withoutOwnId(row: UnconfirmedTransfer): UnconfirmedTransfer {
  const { address, ...leg } = row.request.destination
  if (address === undefined) return row
  return { ...row, request: { ...row.request, destination: { ...leg, addressId: undefined, address } } }
}

/** Transfers of the service that no row here stands for: also those that were adopted. A row that is like one may be its twin. */
export function findUnclaimed(
  remotes: readonly UnmatchedTransfer[],
  { matched }: Pick<Matching, 'matched'>,
): readonly UnmatchedTransfer[] {
  const claimed = new Set(matched.map(({ remote }) => remote.remoteId))
  return remotes.filter(({ remoteId, transfer }) => transfer.automationId === undefined && !claimed.has(remoteId))
}

/** The same, where rows of other gateways may be some of the transfers that are lost. */
export function withClaimed(matching: Matching, claimed: ReadonlySet<string>): Matching {
  const isClaimed = ({ remoteId }: UnmatchedTransfer) => claimed.has(remoteId)
  return {
    ...matching,
    undecided: [...matching.undecided, ...matching.lost.filter(isClaimed)],
    lost: matching.lost.filter((one) => !isClaimed(one)),
  }
}

/** The ids that a person gave, without those that cannot be right: not in the list, another row's id, or another amount where none was paid. */
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

/** An adopted row keeps its id beside a row that has ended, which does not get it. */
const isPossible = ({ request, isEnded }: UnconfirmedTransfer, remote: UnmatchedTransfer): boolean =>
  (isEnded || remote.isAdopted !== true) &&
  isSameMoney(remote.transfer.status === 'complete' ? paidAs(request, remote.transfer) : request, remote.transfer)

/** The same with these rows among the ended ones: they have ended since they were read. */
export function withEnded(matching: Matching, ids: ReadonlySet<string>): Matching {
  const isLate = ({ row }: Likeness) => ids.has(row.id)
  const late = [...matching.resent, ...matching.blocked].filter(isLate)
  return {
    ...matching,
    resent: matching.resent.filter((one) => !isLate(one)),
    blocked: matching.blocked.filter((one) => !isLate(one)),
    ended: [...matching.ended, ...late],
  }
}

/** True for a row that may have been enqueued again: its key may be older than the row. */
const isAnew = ({ createdAt }: StoredTransfer, { fencedAtMs }: Pick<MatchRules, 'fencedAtMs'>) =>
  Date.parse(createdAt) >= fencedAtMs

/**
 * When the key of a row that was enqueued again may first have left, by what the service shows, ISO 8601; null for any other
 * row.
 */
export function firstShownAt({ row, remotes }: Likeness, rules: Pick<MatchRules, 'fencedAtMs'>): string | null {
  if (remotes.length === 0 || !isAnew(row, rules)) return null
  return remotes.map(({ transfer }) => transfer.createdAt).reduce((a, b) => (Date.parse(a) < Date.parse(b) ? a : b))
}

/** True when the service remembers the key of any request that may have left, and the host wants the transfer if none has left. */
function isSafeToSend(pair: Likeness, rules: MatchRules): boolean {
  const { stage, firstRequestAgeMs, isExpired, isEnded } = pair.row
  const shownAt = firstShownAt(pair, rules)
  const shownAgeMs = shownAt === null ? 0 : rules.nowMs - Date.parse(shownAt) + clockMarginMs
  // What is held is not sent again, and may have been released and sent before a restore.
  const isInDoubt = stage === 'blocked' || stage === 'held' || pair.said !== undefined
  return (
    !isEnded && !isInDoubt && !isExpired && Math.max(firstRequestAgeMs, shownAgeMs) < lastSendMs(rules.keyLifetimeMs)
  )
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
    noteOf({ note }) !== '' &&
    // Whom an unregistered counterparty would be paid through is not known here.
    destination.addressId !== undefined
  return isCertain ? [{ row, remote: only, given: false }] : []
}

interface ShownLeg {
  readonly addressId?: string | undefined
  readonly financialInstitutionId?: string | undefined
  readonly valueType: string
  readonly transferType: string
}

type Shown = Pick<Transfer, 'amount'> & { readonly source: ShownLeg; readonly destination: ShownLeg }

/** What of a transfer is the same here and there, but for addresses: that of a counterparty may not be known here. */
function shapeOf({ amount, source, destination }: Shown): string {
  const value = amount.value.includes('.') ? amount.value.replace(/\.?0+$/, '') : amount.value
  return `${value}\n${legsOf({ amount, source, destination })}`.toLowerCase()
}

/** The same without the amount, of which another one may have been paid. */
const legsOf = ({ amount, source, destination }: Shown): string =>
  [amount.currency, ...legOf(source), ...legOf(destination)].join('\n').toLowerCase()

const legOf = ({ valueType, transferType }: ShownLeg) => [valueType, transferType]

/** A service may show the address of a leg under its other name, or not at all. */
const addressOf = ({ addressId, financialInstitutionId }: ShownLeg) =>
  (addressId ?? financialInstitutionId)?.toLowerCase()

function isSameAddress(here: ShownLeg, there: ShownLeg): boolean {
  const [known, shown] = [addressOf(here), addressOf(there)]
  return known === undefined || shown === undefined || known === shown
}

/** True when amount and legs are the same, as far as both are known. */
export const isSameMoney = (request: Shown, transfer: Transfer): boolean =>
  shapeOf(request) === shapeOf(transfer) &&
  isSameAddress(request.source, transfer.source) &&
  isSameAddress(request.destination, transfer.destination)

/** A request as one of the amount that the service shows, where both are in one currency. */
const paidAs = <Request extends Shown>(request: Request, { amount }: Transfer): Request =>
  request.amount.currency === amount.currency ? { ...request, amount } : request

/** An empty note is none, and the space around one may be lost on the way. */
const noteOf = ({ note }: { readonly note?: string | null | undefined }) => (note ?? '').trim().normalize()

/** The row as one of the amount that was paid. */
const asPaid = <Row extends StoredTransfer>(row: Row, { transfer }: UnmatchedTransfer): Row => ({
  ...row,
  request: paidAs(row.request, transfer),
})

/**
 * True when a transfer of the service is like a row but for the amount, which the service shows as it was paid. Where one of them does not say whom it is
 * paid to, that is enough only if the key may be forgotten: then the row would be a payment of its own.
 */
function isPaidOtherwise(pair: Likeness, remote: UnmatchedTransfer, rules: MatchRules): boolean {
  const legs = [pair.row.request.destination, remote.transfer.destination]
  const isKnown = legs.every((leg) => addressOf(leg) !== undefined)
  return (
    (isKnown || !isSafeToSend({ ...pair, remotes: [remote] }, rules)) && isLike(asPaid(pair.row, remote), remote, rules)
  )
}

function isLike(row: StoredTransfer, { transfer }: UnmatchedTransfer, rules: MatchRules): boolean {
  const { request, createdAt, notBefore } = row
  if (!isSameMoney(request, transfer)) return false
  if (noteOf(request) !== noteOf(transfer)) return false
  if (isAnew(row, rules)) return true
  const earliest = Math.max(Date.parse(createdAt), notBefore === null ? 0 : Date.parse(notBefore)) - clockMarginMs
  return Date.parse(transfer.createdAt) >= earliest
}
