import type { Amount } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, listOf, run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import type { RailExceptionReason, RailFactKind } from '../rail-facts/fact-kind.ts'
import { amountOf, readFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'

/** A fact of a rail that could not be applied. */
export interface RailException {
  /** ULID. Exceptions are listed in its order, which is that of their receipt. */
  readonly id: string
  readonly reason: RailExceptionReason
  readonly kind: RailFactKind
  /** The rail or chain of the reference; null when the service does not know it. */
  readonly rail: string | null
  readonly reference: string
  /** As the fact names it; null when it names none. */
  readonly transferId: string | null
  readonly accountId: string | null
  readonly amount: Amount | null
  /** Everything else that the rail said. Contains personal data. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly receivedAt: Date
  /** How a person has resolved it; null while it is open. */
  readonly resolution: RailExceptionEnd | null
}

/** How an exception was resolved. */
export interface RailExceptionEnd {
  readonly action: 'applied' | 'dismissed'
  readonly by: string
  readonly note: string | null
  readonly at: Date
}

/** Which exceptions to list. */
export interface RailExceptionQuery {
  /** True lists the resolved ones too. Default false. */
  readonly includeResolved?: boolean | undefined
  /** Only those of one transfer. */
  readonly transferId?: string | undefined
  /** Id of the last exception of the previous page. */
  readonly after?: string | undefined
  /** From 1 to 1,000. Default 100. */
  readonly limit?: number | undefined
}

/** Lists facts of rails that could not be applied, oldest first. Call it in a transaction of `inTransaction`. */
export async function listRailExceptions(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  query: RailExceptionQuery = {},
): Promise<readonly RailException[]> {
  const { includeResolved = false, transferId = null, after = '', limit = 100 } = query
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new Error('The limit is a whole number from 1 to 1000.')
  const rows = await run(tx, context, list, [includeResolved, transferId, after, limit])
  return rows.map(exceptionOf)
}

/**
 * Locks an exception, and with it the open ones of its transfer, since they are decided together: all in the order of ids, so that two
 * persons do not wait for each other. Their amounts are in the currency that the rail moves. Without the one that was asked for, there is none with this id.
 */
export function lockExceptions(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  id: string,
): Promise<readonly StoredRailFact[]> {
  return run(tx, context, lock, [id])
}

/** How many exceptions are open, by their reason. */
export function countOpenExceptions(
  context: Pick<ServiceContext, 'pool' | 'schema'>,
  executor: Executor = asSystem(context),
): Promise<readonly { readonly reason: string; readonly count: number }[]> {
  return run(executor, context, count)
}

/** An exception as operators see it. */
export function exceptionOf(fact: StoredRailFact): RailException {
  const { id, exceptionReason, kind, rail, reference, transferId, accountId, payload, receivedAt } = fact
  if (exceptionReason === null) throw new Error('The fact is no exception.')
  return {
    ...{ id, reason: exceptionReason, kind, rail, reference, transferId, accountId, payload, receivedAt },
    amount: amountOf(fact) ?? null,
    resolution: endOf(fact),
  }
}

function endOf({ resolution, resolvedBy, resolutionNote, resolvedAt }: StoredRailFact): RailExceptionEnd | null {
  if (resolution === null || resolvedBy === null || resolvedAt === null) return null
  return { action: resolution, by: resolvedBy, note: resolutionNote, at: resolvedAt }
}

const list = statement(
  'rail_exception_list',
  `select ${listOf(readFact)} from {{schema}}.rail_fact
    where exception_reason is not null
      and ($1 or resolved_at is null)
      and ($2::text is null or transfer_id = $2)
      and id > $3
    order by id
    limit $4`,
  readFact,
)

// A bank may name the currency in which the transfer was asked for, which means that of its own leg.
const inMovedCurrency = `coalesce((
  select case t.flow when 'onramp' then t.source_value_type when 'offramp' then t.destination_value_type end
    from {{schema}}.transfer t
   where t.id = f.transfer_id and t.amount_currency = f.amount_currency and t.quote is null
), f.amount_currency) as amount_currency`

const lock = statement(
  'rail_exception_lock',
  `select ${readFact.columns.map((name) => (name === 'amount_currency' ? inMovedCurrency : `f.${name}`)).join(', ')}
     from {{schema}}.rail_fact f
    where f.exception_reason is not null and (
      f.id = $1
      or f.resolved_at is null and f.transfer_id = (select o.transfer_id from {{schema}}.rail_fact o where o.id = $1)
    )
    order by f.id
      for update of f`,
  readFact,
)

const count = statement(
  'rail_exception_count',
  `select exception_reason as reason, count(*)::integer as count from {{schema}}.rail_fact
    where exception_reason is not null and resolved_at is null
    group by exception_reason`,
  rowDecoder('count of exceptions', { reason: Column.text, count: Column.integer }),
)
