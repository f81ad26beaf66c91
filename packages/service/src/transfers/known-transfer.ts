import { Amount, type TransferFailure, TransferStatus } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, type Row, run, statement } from '../database/statement.ts'
import type { LedgerLine } from '../ledger/ledger.ts'
import type { EarlierProgress, StrayArrival } from '../rail-facts/arrival.ts'
import { isOfTransfer, type RailFactKind } from '../rail-facts/fact-kind.ts'
import type { JudgedTransfer } from '../rail-facts/judgement.ts'
import { inMovedCurrency, movedByLines } from '../rail-facts/moved-amount.ts'
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
  /** True where a person decides, or has decided, about a fact of it. */
  readonly hasHeld: boolean
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
  const {
    amountValue,
    amountCurrency,
    automationId,
    sourceTransferType,
    destinationTransferType,
    heldKinds,
    ...transfer
  } = readTransfer(row)
  const isIncoming = transfer.flow === 'onramp' && automationId === null
  const sourceAmount = sourceAmountOf(transfer.post)
  const asked = { value: amountValue, currency: amountCurrency }
  return {
    ...transfer,
    isIncoming,
    hasQuote: sourceAmount !== undefined,
    amount: sourceAmount === undefined ? movedByLines(asked, transfer.post) : asked,
    askedCurrency: amountCurrency,
    rail: isIncoming ? sourceTransferType : destinationTransferType,
    depositRail: automationId === null ? null : sourceTransferType,
    sourceAmount,
    hasHeld: heldKinds.length > 0,
    wasHeld: heldKinds.includes('disputed'),
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
  const returned = transfers.filter(mayHaveReturns)
  const begun = transfers.filter(mayHaveProgress)
  const failing = transfers.filter(mayFailSoon)
  if (returned.length === 0 && begun.length === 0) return known
  const returns = returned.length === 0 ? [] : await run(tx, context, selectReturns, [idsOf(returned)])
  const progress = begun.length === 0 ? [] : await run(tx, context, selectProgress, [idsOf(begun)])
  const failures = failing.length === 0 ? [] : await run(tx, context, selectFailures, [idsOf(failing)])
  const failedAtOf = new Map(failures.map(({ transferId, failedAt }) => [transferId, failedAt ?? undefined] as const))
  const returnsOf = Map.groupBy(returns, ({ transferId }) => transferId)
  const said = Map.groupBy(progress, ({ exceptionReason }) => exceptionReason === null || isOfTransfer(exceptionReason))
  const progressOf = Map.groupBy(said.get(true)?.flatMap(progressOfFact) ?? [], ({ fact }) => fact.transferId)
  const straysOf = Map.groupBy(said.get(false)?.flatMap(strayOf) ?? [], ({ fact }) => fact.transferId)
  const added = [...known].map(([factId, transfer]) => {
    if (transfer === undefined) return [factId, transfer] as const
    const { id } = transfer
    const back = Map.groupBy(returnsOf.get(id) ?? [], roleOf)
    const returned = (back.get('returned') ?? []).flatMap((stored) => returnsSaidBy(stored, transfer))
    const earlierReturns = (back.get('earlier') ?? []).map((stored) => inMovedCurrency(returnOf(stored), transfer))
    const unsentValue = sumOf(back.get('unsent') ?? [], transfer.amount)
    const inMoved = <T extends { readonly fact: RailFact }>(one: T) => ({
      ...one,
      fact: inMovedCurrency(one.fact, transfer),
    })
    const progress = (progressOf.get(id) ?? []).map(inMoved)
    const strays = (straysOf.get(id) ?? []).map(inMoved)
    const failedAt = failedAtOf.get(id)
    return [
      factId,
      { ...transfer, failedAt, returns: returned, earlierReturns, unsentValue, progress, strays },
    ] as const
  })
  return new Map(added)
}

function sumOf(returns: readonly Pick<StoredReturn, 'returnedValue'>[], { currency }: Amount): string {
  const values = returns.map(({ returnedValue }) => ({ value: returnedValue ?? '0', currency }))
  return values.reduce<Amount>((sum, one) => Amount.add(sum, one), { value: '0', currency }).value
}

const idsOf = (transfers: readonly KnownTransfer[]) => [...new Set(transfers.map(({ id }) => id))]

/** What a fact that was read with the returns is: one of them, one that came before the completion, or a settlement of which a rest never left. */
function roleOf({ kind, returnedValue }: StoredReturn): 'returned' | 'earlier' | 'unsent' {
  if (returnedValue === null) return 'earlier'
  return kind === 'returned' ? 'returned' : 'unsent'
}

function mayHaveProgress({ awaitsWire, hasHeld, appliedKinds, status, failure }: KnownTransfer): boolean {
  return awaitsWire || hasHeld || appliedKinds.length > 0 || TransferStatus.isFinal(status, failure)
}

/** One whose failure was said by a fact, and that the engine has yet to deliver. */
function mayFailSoon({ status, failure, appliedKinds }: KnownTransfer): boolean {
  const isEnded = TransferStatus.isFinal(status, failure)
  return !isEnded && appliedKinds.some((kind) => kind === 'rejected' || kind === 'returned')
}

/** Also one of which all that came back has moved again, or whose money came back before it was tried again: a return is not booked twice. */
function mayHaveReturns({ status }: KnownTransfer): boolean {
  return status === 'complete'
}

/** One that an earlier release stored and this one cannot read says nothing of its transactions. */
function progressOfFact(stored: StoredRailFact & ReturnType<typeof readBooked>): readonly EarlierProgress[] {
  const fact = paymentFactOf(stored)
  if (fact === undefined) return []
  const { exceptionReason, resolution, appliedAt, isHeld, isAgain, isEnded } = stored
  const isPart = exceptionReason === 'amount_mismatch' && resolution === 'applied'
  if (appliedAt !== null) return [{ fact, isApplied: true, isAgain, isPart, isEnded }]
  return [{ fact, isApplied: false, isUnbooked: !isHeld, isOther: exceptionReason !== 'amount_mismatch' }]
}

function strayOf(stored: StoredRailFact): readonly StrayArrival[] {
  const fact = paymentFactOf(stored)
  return fact === undefined ? [] : [{ id: stored.id, fact }]
}

/** A return as its rail said it, and where that is in another currency, as a person has stated it as well: it may be reported again in either. */
function returnsSaidBy(stored: StoredReturn, transfer: KnownTransfer) {
  const said = inMovedCurrency(returnOf(stored), transfer)
  const { currency } = transfer.amount
  if (stored.returnedValue === null || said.amount.currency === currency) return [said]
  return [said, { ...said, amount: { value: stored.returnedValue, currency } }]
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
  heldKinds: Column.words<RailFactKind | 'disputed'>(),
  returnedValue: Column.text,
})

const readReturned = rowDecoder('return', { returnedValue: Column.nullable(Column.text) })

type StoredReturn = StoredRailFact & ReturnType<typeof readReturned>

// With the settlements of which a rest never left, and with what came back before the completion and was tried again.
const selectReturns = statement(
  'transfer_return_facts',
  `select ${listOf(readFact, 'f')}, r.amount_value::text as returned_value
     from unnest($1::text[]) as given (transfer_id)
    cross join lateral (
      select r.id, r.amount_value from {{schema}}.transfer_return r where r.transfer_id = given.transfer_id
      union all
      select e.id, null
        from {{schema}}.rail_fact e
       where e.transfer_id = given.transfer_id and e.kind = 'returned' and e.applied_at is not null
         and e.payload #> '{failure,retriable}' = 'true'::jsonb
         and not exists (select from {{schema}}.transfer_return r where r.id = e.id)
    ) r
    cross join lateral (select o.* from {{schema}}.rail_fact o where o.id = r.id offset 0) f
    order by f.id`,
  (row) => ({ ...readFact(row), ...readReturned(row) }),
)

const selectFailures = statement(
  'transfer_failures_said',
  `select given.transfer_id, f.failed_at
     from unnest($1::text[]) as given (transfer_id)
    cross join lateral (
      select o.payload #>> '{failure,occurredAt}' as failed_at from {{schema}}.rail_fact o
       where o.transfer_id = given.transfer_id and o.kind in ('rejected', 'returned') and o.applied_at is not null
       order by o.id desc
       limit 1
    ) f`,
  rowDecoder('failure', { transferId: Column.text, failedAt: Column.nullable(Column.text) }),
)

const readBooked = rowDecoder('rail fact', { isHeld: Column.boolean, isAgain: Column.boolean, isEnded: Column.boolean })

/**
 * Those that were applied, those whose money is in the settlement account, whatever they are held for, and those that a person decides about or has dismissed, since what comes back
 * may be theirs. Of several with the same marks and the same outcome the first one is enough.
 */
const selectProgress = statement(
  'transfer_progress_facts',
  `select ${listOf(readFact, 'f')}, f.is_held, f.is_again, f.is_ended
     from unnest($1::text[]) as given (transfer_id)
    cross join lateral (select {{schema}}.rail_fact_last_retried(given.transfer_id) as id offset 0) retried
    cross join lateral (
      select distinct on (k.said) k.*
        from (
          select h.*,
                 jsonb_build_array(
                   h.kind, h.amount_value, h.amount_currency, h.payload #> '{source,transactionId}',
                   h.payload #> '{source,paymentDetails,imad}', h.payload #> '{destination,transactionId}',
                   h.payload #> '{destination,paymentDetails,imad}', h.applied_at is null, h.is_held, h.is_again, h.is_ended, h.exception_reason, h.resolution,
                   case when h.resolution = 'applied' then h.payload -> 'reachedAt' end
                 ) as said
            from (
              select o.*,
                     o.applied_at is null and o.resolved_at is null
                       and exists (select from {{schema}}.ledger_entry e where e.posting_id = o.id and e.step = 'deposit')
                       and not exists (select from {{schema}}.ledger_entry e where e.posting_id = o.id and e.step = 'reverse') as is_held,
                     o.resolution is not distinct from 'applied'
                       and exists (select from {{schema}}.ledger_entry e where e.posting_id = o.id and e.step = 'post') as is_again,
                     o.applied_at is not null and coalesce(o.id < retried.id, false) as is_ended
                from {{schema}}.rail_fact o
               where o.transfer_id = given.transfer_id and o.kind in ('accepted', 'settled')
                 and (o.applied_at is not null or o.exception_reason is not null)
              offset 0
            ) h
           where h.applied_at is not null or h.is_held or {{schema}}.is_of_transfer(h.exception_reason)
        ) k
       order by k.said, k.id
    ) f
    order by f.id`,
  (row) => ({ ...readFact(row), ...readBooked(row) }),
)

const readFactId = rowDecoder('rail fact', { factId: Column.text })

const claim = statement('rail_fact_claim', 'select * from {{schema}}.rail_fact_claim($1)', (row) => ({
  ...readFactId(row),
  transfer: row['id'] === null ? undefined : knownOf(row),
}))
