import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type FoundRows, pageStatement, runPage, withExaminedPage } from '../database/examined-page.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'
import type { DeliveryAttemptRow, DeliveryRow } from './delivery-store.ts'

/** A page of the deliveries of an account, or of their attempts. */
export interface DeliveryQuery {
  readonly accountId: string
  readonly subscriptionId?: string | undefined
  readonly eventId?: string | undefined
  readonly status?: string | undefined
  readonly direction: 'forward' | 'backward'
  readonly position?: string | undefined
  readonly limit: number
}

/**
 * Reads the deliveries of an account, newest first. In the direction `backward`, the oldest after the position come first. Those of an event or
 * of a webhook are found by an index; for another filter, the page examines a bounded number: see {@link FoundRows}.
 */
export async function listDeliveries(
  executor: Executor | Tx,
  context: ServiceContext,
  query: DeliveryQuery,
): Promise<FoundRows<DeliveryRow>> {
  const { all, filtered, ofEvent, ofSubscription } = lists[query.direction].deliveries
  if (!hasFilters(query)) return { rows: await run(executor, context, all, whoseOf(query)) }
  const one = query.eventId !== undefined ? ofEvent : query.subscriptionId !== undefined ? ofSubscription : filtered
  return await runPage(executor, context, one, valuesOf(query))
}

/**
 * Reads the attempts of the deliveries of an account whose results are known, newest first, or backward as {@link listDeliveries}. With a
 * filter, the page examines a bounded number.
 */
export async function listAttempts(
  executor: Executor | Tx,
  context: ServiceContext,
  query: DeliveryQuery,
): Promise<FoundRows<DeliveryAttemptRow>> {
  const { all, filtered } = lists[query.direction].attempts
  if (!hasFilters(query)) return { rows: await run(executor, context, all, whoseOf(query)) }
  return await runPage(executor, context, filtered, valuesOf(query))
}

/** Reads the attempts of one delivery of an account whose results are known, newest first. */
export function listAttemptsOfDelivery(
  executor: Executor | Tx,
  context: ServiceContext,
  query: { readonly accountId: string; readonly deliveryId: string; readonly limit: number },
): Promise<readonly DeliveryAttemptRow[]> {
  return run(executor, context, ofDelivery, [query.accountId, query.deliveryId, query.limit])
}

const hasFilters = ({ subscriptionId, eventId, status }: DeliveryQuery): boolean =>
  [subscriptionId, eventId, status].some((one) => one !== undefined)

const whoseOf = ({ accountId, direction, position = starts[direction], limit }: DeliveryQuery) => [
  accountId,
  position,
  limit,
]

/** The positions before all deliveries: below and above every id. */
const starts = { forward: '9223372036854775807', backward: '0' } as const

const valuesOf = (query: DeliveryQuery) => [
  ...whoseOf(query),
  query.subscriptionId ?? null,
  query.eventId ?? null,
  query.status ?? null,
]

const readDelivery: (row: Row) => DeliveryRow = rowDecoder('delivery', {
  id: Column.text,
  subscription_id: Column.text,
  event_id: Column.text,
  event_type: Column.text,
  status: Column.word<DeliveryRow['status']>(),
  attempts: Column.integer,
  last_status: Column.nullable(Column.integer),
  last_error: Column.nullable(Column.text),
  last_attempt_at: Column.nullable(Column.isoTime),
  next_attempt_at: Column.nullable(Column.isoTime),
  created: Column.isoTime,
})

const readAttempt: (row: Row) => DeliveryAttemptRow = rowDecoder('delivery attempt', {
  id: Column.text,
  delivery_id: Column.text,
  subscription_id: Column.text,
  event_id: Column.text,
  event_type: Column.text,
  status: Column.word<DeliveryAttemptRow['status']>(),
  attempt_number: Column.integer,
  status_code: Column.nullable(Column.integer),
  error: Column.nullable(Column.text),
  created: Column.isoTime,
})

const deliveryColumns = `d.id::text as id, d.registration_id as subscription_id, d.event_id, e.type as event_type, d.status,
            d.attempts, d.last_status, d.last_error, d.last_attempt_at,
            case when d.status = 'pending' and isfinite(d.next_attempt_at) then d.next_attempt_at end as next_attempt_at,
            d.created_at as created`

const attemptColumns = `a.id::text as id, a.delivery_id::text as delivery_id, d.registration_id as subscription_id, d.event_id,
            e.type as event_type, a.status, a.attempt_number, a.status_code, a.error, a.attempted_at as created`

const ofDeliveries = `join {{schema}}.webhook_event e on e.id = d.event_id`

const ofAttempts = `join {{schema}}.webhook_delivery d on d.id = a.delivery_id ${ofDeliveries}`

/** The lists of one direction. */
function listsOf(suffix: string, isBeyond: string, order: 'asc' | 'desc') {
  const passes = (delivery: string) => `($4::text is null or ${delivery}.registration_id = $4)
        and ($5::text is null or ${delivery}.event_id = $5)
        and ($6::text is null or w.status = $6)`
  const examinedOf = (table: string, whose: string) => (what: string) =>
    `select ${what} from {{schema}}.${table} o where ${whose} and o.id ${isBeyond} order by o.id ${order}`
  const ordered = { order: `w.id ${order}`, limit: '$3' }
  const deliveries = (name: string, whose: string) => {
    const page = withExaminedPage({
      examined: examinedOf('webhook_delivery', whose),
      columns: 'o.id, o.registration_id, o.event_id, o.status',
      filters: passes('w'),
      ...ordered,
    })
    return pageStatement(
      `${name}${suffix}`,
      `${page}
       select ${deliveryColumns}, p.is_edge
         from page p
         join {{schema}}.webhook_delivery d on d.id = p.row_id ${ofDeliveries}
        order by p.is_edge, d.id ${order}`,
      readDelivery,
    )
  }
  const attempts = withExaminedPage({
    examined: examinedOf('webhook_delivery_attempt', 'o.account_id = $1'),
    columns: 'o.id, o.delivery_id, o.status',
    joins: 'join {{schema}}.webhook_delivery v on v.id = w.delivery_id',
    filters: passes('v'),
    ...ordered,
  })
  return {
    deliveries: {
      all: statement(
        `webhook_delivery_list${suffix}`,
        `select ${deliveryColumns} from {{schema}}.webhook_delivery d ${ofDeliveries}
          where d.account_id = $1 and d.id ${isBeyond} order by d.id ${order} limit $3`,
        readDelivery,
      ),
      filtered: deliveries('webhook_delivery_list_filtered', 'o.account_id = $1'),
      ofEvent: deliveries('webhook_delivery_list_of_event', 'o.account_id = $1 and o.event_id = $5'),
      ofSubscription: deliveries(
        'webhook_delivery_list_of_subscription',
        'o.account_id = $1 and o.registration_id = $4',
      ),
    },
    attempts: {
      all: statement(
        `webhook_delivery_attempt_list${suffix}`,
        `select ${attemptColumns} from {{schema}}.webhook_delivery_attempt a ${ofAttempts}
          where a.account_id = $1 and a.id ${isBeyond} order by a.id ${order} limit $3`,
        readAttempt,
      ),
      filtered: pageStatement(
        `webhook_delivery_attempt_list_filtered${suffix}`,
        `${attempts}
         select ${attemptColumns}, p.is_edge
           from page p
           join {{schema}}.webhook_delivery_attempt a on a.id = p.row_id ${ofAttempts}
          order by p.is_edge, a.id ${order}`,
        readAttempt,
      ),
    },
  } as const
}

const lists = {
  forward: listsOf('', '< $2::bigint', 'desc'),
  backward: listsOf('_back', '> $2::bigint', 'asc'),
} as const

const ofDelivery = statement(
  'webhook_delivery_attempt_list_of_delivery',
  `select ${attemptColumns} from {{schema}}.webhook_delivery_attempt a ${ofAttempts}
    where a.account_id = $1 and a.delivery_id = $2::bigint
    order by a.id desc
    limit $3`,
  readAttempt,
)
