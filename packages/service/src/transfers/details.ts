import type { Amount, PaymentDetails } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { type LedgerLine, withAmount } from '../ledger/ledger.ts'
import type { RailFact } from '../rails/port.ts'

/** What an applied fact changes in its transfer, apart from the status. */
export interface AppliedFact {
  readonly transferId: string
  readonly fact: RailFact
  /** Lines of the end, before a change of the amount. */
  readonly post: readonly LedgerLine[]
  /** The amount that arrived, or left, instead of the one that was asked for. */
  readonly received?: Amount | undefined
}

/** What is written to one transfer. */
interface DetailsRow {
  readonly id: string
  readonly source_transaction_id?: string | undefined
  readonly source_payment_details?: PaymentDetails | undefined
  readonly destination_transaction_id?: string | undefined
  readonly destination_payment_details?: PaymentDetails | undefined
  readonly amount_value?: string | undefined
  readonly post?: readonly LedgerLine[] | undefined
  readonly void?: readonly LedgerLine[] | undefined
}

/** Writes what facts say about the legs and the amounts of their transfers, which the caller has locked. The last fact counts. */
export async function writeDetails(tx: Tx, context: ServiceContext, applied: readonly AppliedFact[]): Promise<void> {
  const rows = new Map<string, DetailsRow>()
  for (const one of applied) {
    const { source, destination } = one.fact
    if (source === undefined && destination === undefined && one.received === undefined) continue
    rows.set(one.transferId, detailsOf(one, rows.get(one.transferId)))
  }
  if (rows.size > 0) await run(tx, context, updateDetails, [JSON.stringify([...rows.values()])])
}

function detailsOf({ transferId, fact, post, received }: AppliedFact, earlier: DetailsRow | undefined): DetailsRow {
  const { source, destination } = fact
  return {
    id: transferId,
    source_transaction_id: source?.transactionId ?? earlier?.source_transaction_id,
    source_payment_details: source?.paymentDetails ?? earlier?.source_payment_details,
    destination_transaction_id: destination?.transactionId ?? earlier?.destination_transaction_id,
    destination_payment_details: destination?.paymentDetails ?? earlier?.destination_payment_details,
    amount_value: received?.value ?? earlier?.amount_value,
    ...(received === undefined ? { post: earlier?.post, void: earlier?.void } : linesOf(post, received.value)),
  }
}

/** The lines of both ends with another amount: what is held is as much then, whichever end the engine delivers. */
function linesOf(post: readonly LedgerLine[], amount: string): Pick<DetailsRow, 'post' | 'void'> {
  const lines = withAmount(post, amount)
  const held = lines.find(({ bucket }) => bucket === 'held')
  return { post: lines, void: held === undefined ? [] : [held, { ...held, bucket: 'available', amount }] }
}

const updateDetails = statement(
  'transfer_update_details',
  `update {{schema}}.transfer t
      set source_transaction_id = coalesce(g.source_transaction_id, t.source_transaction_id),
          source_payment_details = coalesce(g.source_payment_details, t.source_payment_details),
          destination_transaction_id = coalesce(g.destination_transaction_id, t.destination_transaction_id),
          destination_payment_details = coalesce(g.destination_payment_details, t.destination_payment_details),
          amount_value = coalesce(g.amount_value, t.amount_value),
          plan = case when g.post is null then t.plan else t.plan || jsonb_build_object('post', g.post, 'void', g.void) end
     from jsonb_to_recordset($1::jsonb) as g(
       id text,
       source_transaction_id text, source_payment_details jsonb,
       destination_transaction_id text, destination_payment_details jsonb,
       amount_value numeric, post jsonb, void jsonb
     )
    where t.id = g.id`,
)
