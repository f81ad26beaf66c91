import type { StoredTransfer } from '../ports/stored-transfer.ts'
import type { Transfer } from '../transfer.ts'

/** A transfer of the service that no row has the id of. */
export interface UnmatchedTransfer {
  readonly remoteId: string
  readonly transfer: Transfer
}

/** What is made of the rows of one account that the service may have, and of its transfers that no row has the id of. */
export interface Matching {
  /** Rows that one transfer of the service stands for, and no other: it is like the row, and like no other row. */
  readonly matched: readonly {
    readonly row: StoredTransfer
    readonly remote: UnmatchedTransfer
    readonly given: boolean
  }[]
  /** Rows that several may stand for, or one that may stand for several rows. */
  readonly ambiguous: readonly { readonly row: StoredTransfer; readonly remotes: readonly UnmatchedTransfer[] }[]
  /** Transfers of the service that are like no row. */
  readonly lost: readonly UnmatchedTransfer[]
}

/** How far the clocks of the host and of the service may differ, in milliseconds. */
export const clockMarginMs = 300_000

/**
 * Compares rows with transfers of the service by all that both show: amount, legs, note and time. Lists show no keys. `given`
 * pairs rows with ids at the service as a person has said. Pure.
 */
export function matchTransfers(
  rows: readonly StoredTransfer[],
  remotes: readonly UnmatchedTransfer[],
  given: ReadonlyMap<string, string>,
): Matching {
  const byId = new Map(remotes.map((remote) => [remote.remoteId, remote]))
  const said = rows.flatMap((row) => {
    const remote = byId.get(given.get(row.id) ?? '')
    return remote === undefined ? [] : [{ row, remote, given: true }]
  })
  const taken = new Set(said.map(({ remote }) => remote.remoteId))
  const decided = new Set(said.map(({ row }) => row.id))
  const free = remotes.filter(({ remoteId }) => !taken.has(remoteId))
  const byLikeness = Map.groupBy(free, ({ transfer }) => likenessOf(transfer))
  const pairs = rows
    .filter(({ id }) => !decided.has(id))
    .map((row) => ({ row, remotes: (byLikeness.get(likenessOf(row.request)) ?? []).filter((one) => isLike(row, one)) }))
    .filter((pair) => pair.remotes.length > 0)
  const claimants = new Map<string, number>()
  for (const { remoteId } of pairs.flatMap((pair) => pair.remotes))
    claimants.set(remoteId, (claimants.get(remoteId) ?? 0) + 1)
  const isCertain = ({ row, remotes: [only, ...more] }: (typeof pairs)[number]) =>
    only !== undefined &&
    more.length === 0 &&
    claimants.get(only.remoteId) === 1 &&
    // Whom an unregistered counterparty would be paid through is not known here.
    row.request.destination.addressId !== undefined
  const certain = pairs.filter(isCertain)
  return {
    matched: [
      ...said,
      ...certain.flatMap(({ row, remotes: [remote] }) => (remote ? [{ row, remote, given: false }] : [])),
    ],
    ambiguous: pairs.filter((pair) => !isCertain(pair)),
    lost: free.filter(({ remoteId }) => !claimants.has(remoteId)),
  }
}

type Shown = Pick<Transfer, 'amount'> & {
  readonly source: {
    readonly addressId?: string | undefined
    readonly valueType: string
    readonly transferType: string
  }
  readonly destination: { readonly valueType: string; readonly transferType: string }
}

/** What of a transfer is the same here and there, but for the address of a counterparty, which may not be known here. */
function likenessOf({ amount, source, destination }: Shown): string {
  const value = amount.value.includes('.') ? amount.value.replace(/\.?0+$/, '') : amount.value
  return [amount.currency, value, ...legOf(source), source.addressId ?? '', ...legOf(destination)]
    .join('\n')
    .toLowerCase()
}

const legOf = ({ valueType, transferType }: Shown['source']) => [valueType, transferType]

function isLike({ request, createdAt, notBefore }: StoredTransfer, { transfer }: UnmatchedTransfer): boolean {
  const { addressId } = request.destination
  const remoteId = transfer.destination.addressId ?? transfer.destination.financialInstitutionId
  if (addressId !== undefined && remoteId !== undefined && addressId !== remoteId) return false
  if ((request.note ?? null) !== (transfer.note ?? null)) return false
  const earliest = Math.max(Date.parse(createdAt), notBefore === null ? 0 : Date.parse(notBefore)) - clockMarginMs
  return Date.parse(transfer.createdAt) >= earliest
}
