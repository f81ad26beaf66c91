import type { ServiceContext, Tx } from '../context.ts'
import { type FoundRows, pageStatement, runPage, startOf, withExaminedPage } from '../database/examined-page.ts'
import { type Executor, listOf, run, statement } from '../database/statement.ts'
import { readTransfer, type TransferRow } from './row.ts'

/** Filters of a list of transfers: exact, case-sensitive, combined with AND. Specification: "Transfers", list. */
export const transferFilters = [
  'automation_id',
  'value_type',
  'transfer_type',
  'transaction_id',
  'status',
  'address_id',
] as const

/** A position in a list: the rows after or before an id, newest first or oldest first. */
export interface TransferQuery {
  readonly filters: Readonly<Partial<Record<(typeof transferFilters)[number], string>>>
  /** `forward` returns older rows, newest first; `backward` returns newer ones, oldest first. */
  readonly direction: 'forward' | 'backward'
  /** Id at which the rows start, not included. */
  readonly position: string | undefined
  readonly limit: number
}

/** One transfer of an account; `undefined` for an unknown id and for one of another account. */
export async function findTransfer(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  accountId: string,
  transferId: string,
): Promise<TransferRow | undefined> {
  const [row] = await run(executor, context, selectTransfer, [accountId, transferId])
  return row
}

/** One transfer of any tenant. The caller checks the tenant. */
export async function findTransferOfAnyone(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  transferId: string,
): Promise<TransferRow | undefined> {
  const [row] = await run(executor, context, selectTransferOfAnyone, [transferId])
  return row
}

/**
 * Transfers of an account. An id is a ULID, so the order by id is the order of creation, and it never changes. With filters, the page
 * examines a bounded number of transfers: see {@link FoundRows}. The transfers of one `transaction_id` are found by an index.
 */
export async function listTransfers(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  accountId: string,
  query: TransferQuery,
): Promise<FoundRows<TransferRow>> {
  const { filters, direction, position, limit } = query
  const { all, filtered, ofAutomation, ofTransaction } = lists[direction]
  const whose = [accountId, position ?? startOf(orders[direction]), limit]
  if (Object.keys(filters).length === 0) return { rows: await run(executor, context, all, whose) }
  const others = [filters.value_type, filters.transfer_type, filters.status, filters.address_id]
  const values = [...whose, ...others.map((one) => one ?? null)]
  const { automation_id: automationId, transaction_id: transactionId } = filters
  if (transactionId !== undefined) {
    return { rows: await run(executor, context, ofTransaction, [...values, automationId ?? null, transactionId]) }
  }
  if (automationId === undefined) return await runPage(executor, context, filtered, values)
  return await runPage(executor, context, ofAutomation, [...values, automationId])
}

/** Transfers of any tenant, with what came back of them. */
export function findTransfersOfAnyone(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  transferIds: readonly string[],
): Promise<readonly TransferRow[]> {
  return run(executor, context, selectTransfersOfAnyone, [transferIds])
}

/** The newest transfer that waits for an inbound wire with this memo or to this account number. */
export async function findByWireInstructions(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  wire: { readonly memo?: string | undefined; readonly accountNumber?: string | undefined },
): Promise<TransferRow | undefined> {
  const values = [wire.memo ?? null, wire.accountNumber ?? null]
  const [row] = await run(executor, context, selectByInstructions, values)
  return row
}

/** The columns of transfers `t`, with what came back of them. */
const columns = `${listOf(readTransfer, 't')}, (
      select jsonb_agg(jsonb_build_object(
               'code', r.code,
               'amount', jsonb_build_object('value', r.amount_value::text, 'currency', r.amount_currency),
               'sourceAmount', case when r.source_value is not null then
                 jsonb_build_object('value', r.source_value::text, 'currency', t.source_value_type)
               end,
               'occurredAt', r.occurred_at
             ) order by r.id)
        from {{schema}}.transfer_return r
       where r.transfer_id = t.id
    ) as returns`

/** Reads transfers `t` with what came back of them: the beginning of a statement. */
export const withReturns = `select ${columns}
  from {{schema}}.transfer t`

const selectTransfer = statement(
  'transfer_select',
  `${withReturns} where t.account_id = $1 and t.id = $2`,
  readTransfer,
)

const selectTransferOfAnyone = statement('transfer_select_of_anyone', `${withReturns} where t.id = $1`, readTransfer)

const selectTransfersOfAnyone = statement(
  'transfer_select_many_of_anyone',
  `${withReturns} where t.id = any ($1)`,
  readTransfer,
)

const selectByInstructions = statement(
  'transfer_select_by_wire_instructions',
  `select ${listOf(readTransfer)} from {{schema}}.transfer
    where wire_instructions is not null
      and (wire_instructions ->> 'memo' = $1 or wire_instructions ->> 'accountNumber' = $2)
    order by id desc
    limit 1`,
  readTransfer,
)

/** Filters of transfers under an alias. */
const passes = (
  alias: string,
) => `($4::text is null or ${alias}.source_value_type = $4 or ${alias}.destination_value_type = $4)
        and ($5::text is null or ${alias}.source_transfer_type = $5 or ${alias}.destination_transfer_type = $5)
        and ($6::text is null or ${alias}.status = $6)
        and ($7::text is null or ${alias}.source_address_id = $7 or ${alias}.destination_address_id = $7)`

const filtered = `o.id, o.status, o.source_value_type, o.destination_value_type, o.source_transfer_type, o.destination_transfer_type,
  o.source_address_id, o.destination_address_id`

/** The lists of one direction. */
function listsOf(suffix: string, isBeyond: string, order: 'asc' | 'desc') {
  const examined = (name: string, whose: string) => {
    const page = withExaminedPage({
      examined: (what) =>
        `select ${what} from {{schema}}.transfer o where ${whose} and o.id ${isBeyond} order by o.id ${order}`,
      columns: filtered,
      filters: passes('w'),
      order: `w.id ${order}`,
      limit: '$3',
    })
    return pageStatement(
      `${name}${suffix}`,
      `${page}
       select ${columns}, p.is_edge
         from page p
         join {{schema}}.transfer t on t.id = p.row_id
        order by p.is_edge, t.id ${order}`,
      readTransfer,
    )
  }
  return {
    all: statement(
      `transfer_list${suffix}`,
      `${withReturns} where t.account_id = $1 and t.id ${isBeyond} order by t.id ${order} limit $3`,
      readTransfer,
    ),
    filtered: examined('transfer_list_filtered', 'o.account_id = $1'),
    ofAutomation: examined('transfer_list_of_automation', 'o.account_id = $1 and o.automation_id = $8'),
    ofTransaction: statement(
      `transfer_list_of_transaction${suffix}`,
      `${withReturns}
        where t.account_id = $1 and (t.source_transaction_id = $9 or t.destination_transaction_id = $9)
          and t.id ${isBeyond} and ${passes('t')} and ($8::text is null or t.automation_id = $8)
        order by t.id ${order}
        limit $3`,
      readTransfer,
    ),
  } as const
}

const orders = { forward: 'desc', backward: 'asc' } as const

const lists = { forward: listsOf('', '< $2', 'desc'), backward: listsOf('_back', '> $2', 'asc') } as const
