import { type Amount, type TransferFailure, TransferStatus } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, type Row, run, statement } from '../database/statement.ts'
import type { LedgerLine } from '../ledger/ledger.ts'
import type { EarlierProgress } from '../rail-facts/arrival.ts'
import type { RailFactKind } from '../rail-facts/fact-kind.ts'
import type { JudgedTransfer } from '../rail-facts/judgement.ts'
import { paymentFactOf } from '../rail-facts/payment-fact.ts'
import { amountOf, readFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import type { RailFact, RailFlow } from '../rails/port.ts'

/** What is known of the transfer of a fact. */
export interface KnownTransfer extends JudgedTransfer {
  readonly id: string
  /** The rail or chain whose reference identifies its payment. */
  readonly rail: string
  readonly destinationAddressId: string
  /** The rail of the deposit that funded it; null for one that an automation has not created. */
  readonly depositRail: string | null
  /** What its source has given, with a quote; its amount is that of the destination then. */
  readonly sourceAmount?: Amount | undefined
  /** Ledger lines of its end. */
  readonly post: readonly LedgerLine[]
  /** True once the engine knows the reference. */
  readonly hasReference: boolean
}

/** Locks facts that have no outcome yet, and their transfers. Those that are missing in the answer have an outcome. */
export async function claimFacts(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KnownTransfer | undefined>> {
  const rows = await run(tx, context, claim, [ids])
  return new Map(rows.map((row) => [row.factId, row.transfer]))
}

function knownOf(row: Row): KnownTransfer {
  const { amountValue, amountCurrency, automationId, sourceTransferType, destinationTransferType, ...transfer } =
    readTransfer(row)
  const isIncoming = transfer.flow === 'onramp' && automationId === null
  const sourceAmount = sourceAmountOf(transfer.post)
  return {
    ...transfer,
    isIncoming,
    hasQuote: sourceAmount !== undefined,
    amount: { value: amountValue, currency: amountCurrency },
    rail: isIncoming ? sourceTransferType : destinationTransferType,
    depositRail: automationId === null ? null : sourceTransferType,
    sourceAmount,
    progress: [],
    returns: [],
  }
}

/** Adds the earlier facts of transfers that are needed to judge the next ones. Their rows are locked. */
export async function addEarlierFacts(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  known: ReadonlyMap<string, KnownTransfer | undefined>,
): Promise<ReadonlyMap<string, KnownTransfer | undefined>> {
  const transfers = [...known.values()].filter((transfer) => transfer !== undefined)
  const returned = transfers.filter(({ returnedValue }) => /[1-9]/.test(returnedValue))
  const begun = transfers.filter(mayHaveProgress)
  if (returned.length === 0 && begun.length === 0) return known
  const returns = returned.length === 0 ? [] : await run(tx, context, selectReturns, [idsOf(returned)])
  const progress = begun.length === 0 ? [] : await run(tx, context, selectProgress, [idsOf(begun)])
  const returnsOf = Map.groupBy(returns.map(returnOf), ({ transferId }) => transferId)
  const progressOf = Map.groupBy(progress.flatMap(progressOfFact), ({ fact }) => fact.transferId)
  const added = [...known].map(([factId, transfer]) => {
    if (transfer === undefined) return [factId, transfer] as const
    const { id } = transfer
    return [factId, { ...transfer, returns: returnsOf.get(id) ?? [], progress: progressOf.get(id) ?? [] }] as const
  })
  return new Map(added)
}

const idsOf = (transfers: readonly KnownTransfer[]) => [...new Set(transfers.map(({ id }) => id))]

function mayHaveProgress({ awaitsWire, appliedKinds, status, failure }: KnownTransfer): boolean {
  return awaitsWire || appliedKinds.length > 0 || TransferStatus.isFinal(status, failure)
}

/** One that an earlier release stored and this one cannot read says nothing of its transactions. */
function progressOfFact(stored: StoredRailFact): readonly EarlierProgress[] {
  const fact = paymentFactOf(stored)
  return fact === undefined ? [] : [{ fact, isApplied: stored.appliedAt !== null }]
}

/** Of one that an earlier release stored and this one cannot read, only the amount is known. */
function returnOf(stored: StoredRailFact): RailFact {
  const { reference, transferId, accountId } = stored
  const bare = {
    kind: 'returned',
    reference,
    transferId: transferId ?? '',
    accountId: accountId ?? '',
    failure: null,
  } as const
  return paymentFactOf(stored) ?? { ...bare, amount: amountOf(stored) ?? { value: '0', currency: '' } }
}

/** A transfer with a quote takes from its source what the exchange account gets. */
function sourceAmountOf(post: readonly LedgerLine[]): Amount | undefined {
  const taken = post.find(({ kind, amount }) => kind === 'exchange' && !amount.startsWith('-'))
  return taken && { value: taken.amount, currency: taken.value }
}

const readTransfer = rowDecoder('transfer', {
  id: Column.text,
  accountId: Column.text,
  status: Column.word<TransferStatus>(),
  failure: Column.nullable(Column.json<TransferFailure>()),
  flow: Column.word<RailFlow>(),
  automationId: Column.nullable(Column.text),
  amountValue: Column.text,
  amountCurrency: Column.text,
  sourceTransferType: Column.text,
  destinationTransferType: Column.text,
  destinationAddressId: Column.text,
  post: Column.json<readonly LedgerLine[]>(),
  awaitsWire: Column.boolean,
  hasReference: Column.boolean,
  reference: Column.nullable(Column.text),
  appliedKinds: Column.words<RailFactKind>(),
  returnedValue: Column.text,
})

const selectReturns = statement(
  'transfer_return_facts',
  `select ${listOf(readFact, 'f')}
     from unnest($1::text[]) as given (transfer_id)
    cross join lateral (select r.id from {{schema}}.transfer_return r where r.transfer_id = given.transfer_id offset 0) r
    cross join lateral (select o.* from {{schema}}.rail_fact o where o.id = r.id offset 0) f
    order by f.id`,
  readFact,
)

/** Those that were applied, and those whose money is in the settlement account. */
const selectProgress = statement(
  'transfer_progress_facts',
  `select ${listOf(readFact, 'f')}
     from unnest($1::text[]) as given (transfer_id)
    cross join lateral (
      select o.* from {{schema}}.rail_fact o
       where o.transfer_id = given.transfer_id and o.kind in ('accepted', 'settled') offset 0
    ) f
    where f.applied_at is not null or (
      f.exception_reason is not null and f.resolved_at is null
      and exists (select from {{schema}}.ledger_entry e where e.posting_id = f.id and e.step = 'deposit')
      and not exists (select from {{schema}}.ledger_entry e where e.posting_id = f.id and e.step = 'reverse')
    )
    order by f.id`,
  readFact,
)

const readFactId = rowDecoder('rail fact', { factId: Column.text })

const claim = statement('rail_fact_claim', 'select * from {{schema}}.rail_fact_claim($1)', (row) => ({
  ...readFactId(row),
  transfer: row['id'] === null ? undefined : knownOf(row),
}))
