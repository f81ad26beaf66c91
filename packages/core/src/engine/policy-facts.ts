import type { Catalog } from '../catalog.ts'
import { Counterparty } from '../counterparty.ts'
import type { Policy } from '../policy.ts'
import type { JudgedTransfer } from '../policy-condition.ts'
import { PolicyPayment } from '../policy-payment.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { FactQuery, PayeeQuery, PaymentQuery, StoredFacts } from '../ports/policies.ts'
import type { Runtime } from '../ports/runtime.ts'

/** What some policies need to know of the database. */
export interface NeededFacts {
  /** Ids of counterparties that they name, each once. */
  readonly named: readonly string[]
  /** True where one asks whether a payee is new. */
  readonly asksNew: boolean
  /** How many days back transfers that are alike are searched for; null for none. */
  readonly days: number | null
}

/** A transfer and who it pays, where it says so. */
export type PayingTransfer = NewTransfer & JudgedTransfer

/** Nothing is asked of the database. */
export const needsNothing: NeededFacts = { named: [], asksNew: false, days: null }

/** What policies need to know of the database. */
export function needsOf(policies: readonly Policy[]): NeededFacts {
  const days = policies.flatMap(({ when }) =>
    when?.lookalike === undefined ? [] : PolicyPayment.daysOf(when.lookalike),
  )
  return {
    named: [...new Set(policies.flatMap(({ when }) => when?.counterparties ?? []))],
    asksNew: policies.some(({ when }) => when?.newCounterparty !== undefined),
    days: days.length === 0 ? null : Math.max(...days),
  }
}

const asksPayments = ({ asksNew, days }: NeededFacts): boolean => asksNew || days !== null

/** True where nothing has to be read. */
export const isNothing = (needs: NeededFacts): boolean => needs.named.length === 0 && !asksPayments(needs)

/** The transfers with the digests of those whom they pay, where they say that. */
export async function addPayees(
  transfers: readonly NewTransfer[],
  { digest }: Pick<Runtime, 'digest'>,
  endTurn: () => Promise<void>,
): Promise<readonly PayingTransfer[]> {
  const paying: PayingTransfer[] = []
  for (const transfer of transfers) {
    const { counterparty } = transfer
    const payee = counterparty === undefined ? undefined : Counterparty.payeeOf(counterparty.address, digest)
    paying.push({ ...transfer, payee })
    await endTurn()
  }
  return paying
}

/** What is asked about some transfers. */
export function queryOf(needs: NeededFacts, paid: readonly PayingTransfer[], catalog: Catalog): FactQuery {
  const payments = asksPayments(needs)
    ? paid.map((transfer, at) => paymentOf(needs, transfer, at, paid.length > 1, catalog))
    : []
  return { payees: payeesOf(needs, paid), payments }
}

/** What is asked about those whom transfers pay. */
function payeesOf({ named }: NeededFacts, paid: readonly PayingTransfer[]): PayeeQuery {
  if (named.length === 0) return { named, addressIds: [], fingerprints: [], payees: [] }
  const all = (read: (transfer: PayingTransfer) => string | undefined) => [
    ...new Set(paid.flatMap((transfer) => read(transfer) ?? [])),
  ]
  return {
    named,
    addressIds: all(({ request }) => request.destination.addressId),
    fingerprints: all(({ request }) => request.destination.address?.fingerprint),
    payees: all(({ payee }) => payee),
  }
}

/** Currencies in which the same amount is the same money: value of one peg is worth the same, whatever it is stated in. */
export function sameWorth(currency: string, { valueType, valueTypes }: Catalog): readonly string[] {
  const peg = valueType(currency)?.peg
  return [...new Set([currency, ...valueTypes.flatMap((one) => (one.peg === peg ? one.name : []))])]
}

const paymentOf = (
  { asksNew, days }: NeededFacts,
  { id, accountId, gateway, idempotencyKey, request, payee }: PayingTransfer,
  at: number,
  isMany: boolean,
  catalog: Catalog,
): PaymentQuery => ({
  ...{ at, id, accountId, gateway, idempotencyKey, payee, asksNew, days, namesPayee: isMany },
  addressId: request.destination.addressId,
  fingerprint: request.destination.address?.fingerprint,
  amount: request.amount.value,
  currencies: sameWorth(request.amount.currency, catalog),
})

/** Transfers before which one statement searches, at most: it reads some rows of indexes for each. */
const mostSearched = 1_000

/** Reads the facts of many: of the payees at once, and of the transfers before them some at a time. */
export async function readMany(
  { payees, payments }: FactQuery,
  read: (query: FactQuery) => Promise<StoredFacts>,
): Promise<StoredFacts> {
  const first = await read({ payees, payments: payments.slice(0, mostSearched) })
  const known = new Map(first.payments)
  for (let from = mostSearched; from < payments.length; from += mostSearched) {
    const next = { payees: { ...payees, named: [] }, payments: payments.slice(from, from + mostSearched) }
    for (const [at, facts] of (await read(next)).payments) known.set(at, facts)
  }
  return { ...first, payments: known }
}

/** The facts of nearly all transfers: nobody who is named, nothing new, nothing alike. The insert says where they are others. */
export const usualFacts: StoredFacts = {
  payees: { byAddressId: new Map(), byFingerprint: new Map(), byPayee: new Map(), unknown: new Set() },
  payments: new Map([[0, { isNewToAccount: false, isNewToHost: false, lookalike: null }]]),
  text: '',
}

/** The same amount in one spelling. */
const trimZeros = (value: string): string =>
  value
    .replace(/^0+(?=\d)/, '')
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')

/** The facts with those transfers of one call that look like an earlier one of it. A repeat of a key is none. */
export function addOwnLookalikes(
  facts: StoredFacts,
  { days }: NeededFacts,
  transfers: readonly NewTransfer[],
  { now, catalog }: { readonly now: Date; readonly catalog: Catalog },
): StoredFacts {
  if (days === null) return facts
  const payments = new Map(facts.payments)
  const first = new Map<string, NewTransfer>()
  const keys = new Set<string>()
  for (const [at, transfer] of transfers.entries()) {
    const { accountId, idempotencyKey, request } = transfer
    const known = payments.get(at)
    const key = JSON.stringify([accountId, idempotencyKey])
    if (known?.payee === undefined || keys.has(key)) continue
    keys.add(key)
    const currency = [...sameWorth(request.amount.currency, catalog)].sort()
    const payment = JSON.stringify([accountId, known.payee, trimZeros(request.amount.value), currency])
    const earlier = first.get(payment)
    if (earlier === undefined) first.set(payment, transfer)
    else payments.set(at, { ...known, lookalike: { id: earlier.id, at: now.toISOString() } })
  }
  return { ...facts, payments }
}
