import { type Observation, TransferStatus } from '@outlay/core'
import { inTransaction, type ServiceContext, type Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { book, type LedgerLine, planReverse } from '../ledger/ledger.ts'
import { observationOf } from '../rails/gateway.ts'
import type { RailFact, RailFactListener, RailFlow } from '../rails/port.ts'

/**
 * Makes the listener that takes facts from the rails: what they say about the legs goes to the transfers, what they say
 * about the outcome goes to the engine, in one transaction per batch.
 *
 * A fact about a payment whose reference the engine does not know yet is not taken; the rail tells it again.
 */
export function takeFacts(context: ServiceContext): RailFactListener {
  return (facts) => inTransaction(context, (tx) => takeBatch(tx, context, facts))
}

async function takeBatch(tx: Tx, context: ServiceContext, facts: readonly RailFact[]): Promise<ReadonlySet<string>> {
  const known = new Map((await writeDetails(tx, context, facts)).map((row) => [row.id, row]))
  const taken = new Set<string>()
  const sure: RailFact[] = []
  const unsure: RailFact[] = []
  for (const fact of facts) {
    const row = known.get(fact.transferId)
    if (row === undefined || TransferStatus.isFinal(row.status, row.failure)) {
      taken.add(fact.reference)
      if (row?.status === 'complete' && fact.kind === 'returned') await takeLateReturn(tx, context, row)
    } else {
      const group = row.has_reference ? sure : unsure
      group.push(fact)
    }
  }
  for (const [accountId, group] of Map.groupBy(sure, (fact) => fact.accountId)) {
    await context.engine.transfers.observe(tx, accountId, group.map(observe))
    for (const { reference } of group) taken.add(reference)
  }
  for (const [accountId, group] of Map.groupBy(unsure, (fact) => fact.accountId)) {
    const changed = await context.engine.transfers.observe(tx, accountId, group.map(observe))
    // With one among them that the engine does not know yet, all are told again: soon each is known to be sure.
    if (changed === group.length) for (const { reference } of group) taken.add(reference)
  }
  return taken
}

function observe(fact: RailFact): Observation {
  return observationOf({ ...fact, state: fact.kind })
}

/**
 * Money of a complete transfer has come back. `complete` is final, so only the ledger says it: what an offramp burnt is
 * the wallet's again. What an onramp minted may be spent by now, so that is for a person.
 */
async function takeLateReturn(tx: Tx, context: ServiceContext, { id, flow, post }: KnownTransfer): Promise<void> {
  if (flow === 'offramp') await book(tx, context, id, 'reverse', planReverse(post))
  const report = flow === 'offramp' ? 'the wallet got it back.' : 'a person has to decide.'
  context.logger.warn({ transferId: id, flow }, `The money of a complete transfer was returned; ${report}`)
}

interface KnownTransfer {
  readonly id: string
  readonly status: TransferStatus
  readonly failure: { readonly retriable: boolean } | null
  readonly flow: RailFlow
  readonly post: readonly LedgerLine[]
  readonly has_reference: boolean
}

function writeDetails(tx: Tx, context: ServiceContext, facts: readonly RailFact[]): Promise<readonly KnownTransfer[]> {
  const given = facts.map(({ transferId, source, destination }) => ({
    id: transferId,
    told: source !== undefined || destination !== undefined,
    source_transaction_id: source?.transactionId,
    source_payment_details: source?.paymentDetails,
    destination_transaction_id: destination?.transactionId,
    destination_payment_details: destination?.paymentDetails,
  }))
  return run(tx, context, updateDetails, [JSON.stringify(given)])
}

const updateDetails = statement(
  'transfer_update_details',
  `with given as (
     select * from jsonb_to_recordset($1::jsonb) as g(
       id text, told boolean,
       source_transaction_id text, source_payment_details jsonb,
       destination_transaction_id text, destination_payment_details jsonb
     )
   ), locked as materialized (
     -- In the order in which events of the engine come to these rows, so that the two never wait for each other.
     select t.id
       from {{schema}}.transfer t
       join given g on g.id = t.id
      where g.told
      order by t.account_id, t.id
        for update of t
   ), told as (
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
)
