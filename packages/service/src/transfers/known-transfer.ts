import type { Amount, TransferFailure, TransferStatus } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, type Row, run, statement } from '../database/statement.ts'
import type { LedgerLine } from '../ledger/ledger.ts'
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
  return {
    ...transfer,
    amount: { value: amountValue, currency: amountCurrency },
    rail: isIncoming ? sourceTransferType : destinationTransferType,
    depositRail: automationId === null ? null : sourceTransferType,
    sourceAmount: sourceAmountOf(transfer.post),
    returns: [],
  }
}

/** Adds to transfers of which money has come back the facts of that. Their rows are locked. */
export async function addReturns(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  known: ReadonlyMap<string, KnownTransfer | undefined>,
): Promise<ReadonlyMap<string, KnownTransfer | undefined>> {
  const returned = [...known.values()].filter((transfer) => /[1-9]/.test(transfer?.returnedValue ?? ''))
  if (returned.length === 0) return known
  const rows = await run(tx, context, selectReturns, [returned.map((transfer) => transfer?.id)])
  const returns = Map.groupBy(rows.map(returnOf), ({ transferId }) => transferId)
  const added = [...known].map(
    ([id, transfer]) => [id, transfer && { ...transfer, returns: returns.get(transfer.id) ?? [] }] as const,
  )
  return new Map(added)
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
  heldKinds: Column.words<RailFactKind>(),
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

const readFactId = rowDecoder('rail fact', { factId: Column.text })

const claim = statement('rail_fact_claim', 'select * from {{schema}}.rail_fact_claim($1)', (row) => ({
  ...readFactId(row),
  transfer: row['id'] === null ? undefined : knownOf(row),
}))
