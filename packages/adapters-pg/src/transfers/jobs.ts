/** True of a transfer `t` that has an attempt without an answer: a worker may believe that it has its job. */
const isHeld = 'exists (select from {{schema}}.attempt a where a.transfer_id = t.id and a.answered_at is null)'

/** SQL that gives a job to each transfer of `$1::text[]` that has none which is alive and that nothing holds, due now or at the transfer's own time. */
export const ensureJobsText = `select {{schema}}.queue_ensure(
    array_agg({{schema}}.job_id(t.id)), array_agg(t.not_before), array_agg(${isHeld}))::text
  from {{schema}}.transfer t where t.id = any ($1::text[]) and t.stage <> 'held'`

/**
 * SQL that makes the waiting jobs of the transfers of `$1::text[]` due, now or at the transfer's own time. The caller has locked the
 * transfers, and with them their jobs.
 */
export const wakeJobsText = `select {{schema}}.queue_wake(
    array_agg({{schema}}.job_id(t.id)), array_agg(t.not_before), array_agg(${isHeld}))::text
  from {{schema}}.transfer t where t.id = any ($1::text[])`
