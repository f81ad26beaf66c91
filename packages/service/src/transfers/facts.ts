import { type Observation, type TransferFailure, TransferStatus } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { inTransaction, type ServiceContext, type Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { book, type LedgerLine, planReverse } from '../ledger/ledger.ts'
import { observationOf } from '../rails/gateway.ts'
import type { RailFact, RailFactListener, RailFlow } from '../rails/port.ts'

/**
 * Makes the listener for facts of the rails. In one transaction per batch, it writes the facts about legs to the transfers and
 * gives the outcomes to the engine.
 *
 * A fact about a payment whose reference the engine does not know yet is not accepted. The rail reports it again.
 */
export function applyFacts(context: ServiceContext): RailFactListener {
  return (facts) => inTransaction(context, (tx) => applyBatch(tx, context, facts))
}

async function applyBatch(tx: Tx, context: ServiceContext, facts: readonly RailFact[]): Promise<ReadonlySet<string>> {
  const known = new Map((await writeDetails(tx, context, facts)).map((row) => [row.id, row]))
  const accepted = new Set<string>()
  const sure: RailFact[] = []
  const unsure: RailFact[] = []
  for (const fact of facts) {
    const row = known.get(fact.transferId)
    if (row === undefined || TransferStatus.isFinal(row.status, row.failure)) {
      accepted.add(fact.reference)
      if (row?.status === 'complete' && fact.kind === 'returned') await applyLateReturn(tx, context, row)
    } else {
      const group = row.hasReference ? sure : unsure
      group.push(fact)
    }
  }
  for (const [accountId, group] of Map.groupBy(sure, (fact) => fact.accountId)) {
    await context.engine.transfers.observe(tx, accountId, group.map(observe))
    for (const { reference } of group) accepted.add(reference)
  }
  for (const [accountId, group] of Map.groupBy(unsure, (fact) => fact.accountId)) {
    const changed = await context.engine.transfers.observe(tx, accountId, group.map(observe))
    // If the engine does not know one of them yet, the rail reports all of them again; by then the engine knows each.
    if (changed === group.length) for (const { reference } of group) accepted.add(reference)
  }
  return accepted
}

function observe(fact: RailFact): Observation {
  return observationOf({ ...fact, state: fact.kind })
}

/**
 * The money of a complete transfer was returned. `complete` is final, so only the ledger records it. The tokens that an offramp
 * burned are in the wallet again. The tokens that an onramp minted may be spent, so a person has to decide.
 */
async function applyLateReturn(tx: Tx, context: ServiceContext, { id, flow, post }: KnownTransfer): Promise<void> {
  if (flow === 'offramp') await book(tx, context, id, 'reverse', planReverse(post))
  const report = flow === 'offramp' ? 'the wallet got it back.' : 'a person has to decide.'
  context.logger.warn({ transferId: id, flow }, `The money of a complete transfer was returned; ${report}`)
}

type KnownTransfer = ReturnType<typeof readKnown>

function writeDetails(tx: Tx, context: ServiceContext, facts: readonly RailFact[]): Promise<readonly KnownTransfer[]> {
  const given = facts.map(({ transferId, source, destination }) => ({
    id: transferId,
    affected: source !== undefined || destination !== undefined,
    source_transaction_id: source?.transactionId,
    source_payment_details: source?.paymentDetails,
    destination_transaction_id: destination?.transactionId,
    destination_payment_details: destination?.paymentDetails,
  }))
  return run(tx, context, updateDetails, [JSON.stringify(given)])
}

const readKnown = rowDecoder('transfer', {
  id: Column.text,
  status: Column.word<TransferStatus>(),
  failure: Column.nullable(Column.json<TransferFailure>()),
  flow: Column.word<RailFlow>(),
  post: Column.json<readonly LedgerLine[]>(),
  hasReference: Column.boolean,
})

const updateDetails = statement(
  'transfer_update_details',
  `with given as (
     select * from jsonb_to_recordset($1::jsonb) as g(
       id text, affected boolean,
       source_transaction_id text, source_payment_details jsonb,
       destination_transaction_id text, destination_payment_details jsonb
     )
   ), locked as materialized (
     -- In the order in which events of the engine lock these rows, so that the two never deadlock.
     select t.id
       from {{schema}}.transfer t
       join given g on g.id = t.id
      where g.affected
      order by t.account_id, t.id
        for update of t
   ), updated as (
     update {{schema}}.transfer t
        set source_transaction_id = coalesce(g.source_transaction_id, t.source_transaction_id),
            source_payment_details = coalesce(g.source_payment_details, t.source_payment_details),
            destination_transaction_id = coalesce(g.destination_transaction_id, t.destination_transaction_id),
            destination_payment_details = coalesce(g.destination_payment_details, t.destination_payment_details)
       from given g
       join locked l on l.id = g.id
      where t.id = g.id
   )
   select t.id, t.status, t.failure, t.flow, t.plan -> 'post' as post, t.reference is not null as has_reference
     from {{schema}}.transfer t
    where t.id in (select id from given)`,
  readKnown,
)
