/**
 * The same rows with the trace context of the transfer whose id is in `column`. It is read row by row, so that no
 * plan ever reads the whole table.
 */
export const withTraceContext = (rows: string, column: string): string =>
  `select r.*, (select x.traceparent from {{schema}}.trace_context x where x.transfer_id = r.${column}) as traceparent
    from (${rows}) r`

/** The same as `enqueueOne`, with one more value: the context to keep for the transfer $1 when it is written, and not refused for its batch, its policies or their facts. */
export const keepTraceOfOne = (enqueueOne: string): string =>
  `with w as materialized (${enqueueOne}), kept as (
    insert into {{schema}}.trace_context (transfer_id, traceparent)
    select $1, ${nextValue(enqueueOne)}::text from w where w.written is not null and w.written not in ('stale', 'alone') and w.written not like 'batch %' and w.written not like 'facts %' on conflict do nothing
  )
  select w.written from w`

/** The same as `enqueueMany`, with one more value: the context to keep for those of the transfers $1 that are written. */
export const keepTraceOfMany = (enqueueMany: string): string =>
  `with w as materialized (${enqueueMany}), kept as (
    insert into {{schema}}.trace_context (transfer_id, traceparent)
    select n.id, ${nextValue(enqueueMany)}::text from unnest($1::text[]) with ordinality as n (id, position)
    where exists (select 1 from w where w.at is not null and w.at not in ('stale', 'alone'))
      and not exists (select 1 from w where w.stored_position = n.position)
    on conflict do nothing
  )
  select w.written, w.at, w.stored_position from w`

const nextValue = (text: string): string =>
  `$${1 + Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))}`
