import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, listOf, run, type Statement, statement } from '../database/statement.ts'
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

/** Transfers of an account. An id is a ULID, so the order by id is the order of creation, and it never changes. */
export function listTransfers(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  accountId: string,
  query: TransferQuery,
): Promise<readonly TransferRow[]> {
  const { filters, direction, position, limit } = query
  const values = [
    accountId,
    position ?? null,
    limit,
    filters.automation_id ?? null,
    filters.value_type ?? null,
    filters.transfer_type ?? null,
    filters.status ?? null,
    filters.address_id ?? null,
  ]
  if (filters.transaction_id === undefined) return run(executor, context, lists[direction].all, values)
  return run(executor, context, lists[direction].byTransaction, [...values, filters.transaction_id])
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

/** Reads transfers `t` with what came back of them: the beginning of a statement. */
export const withReturns = `select ${listOf(readTransfer, 't')}, (
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
    ) as returns
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

function list(name: string, direction: TransferQuery['direction'], extra: string): Statement<TransferRow> {
  const [comparison, order] = direction === 'forward' ? ['<', 'desc'] : ['>', 'asc']
  return statement(
    name,
    `${withReturns}
      where account_id = $1
        and ($2::text is null or id ${comparison} $2)
        and ($4::text is null or automation_id = $4)
        and ($5::text is null or source_value_type = $5 or destination_value_type = $5)
        and ($6::text is null or source_transfer_type = $6 or destination_transfer_type = $6)
        and ($7::text is null or status = $7)
        and ($8::text is null or source_address_id = $8 or destination_address_id = $8)
        ${extra}
      order by id ${order}
      limit $3`,
    readTransfer,
  )
}

const ofTransaction = 'and (source_transaction_id = $9 or destination_transaction_id = $9)'

const lists = {
  forward: {
    all: list('transfer_list', 'forward', ''),
    byTransaction: list('transfer_list_by_transaction', 'forward', ofTransaction),
  },
  backward: {
    all: list('transfer_list_back', 'backward', ''),
    byTransaction: list('transfer_list_back_by_transaction', 'backward', ofTransaction),
  },
} as const
