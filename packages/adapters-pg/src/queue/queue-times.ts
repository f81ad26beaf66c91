/**
 * Statements that move the times of the queue after the clock of Postgres was set back by `$1` milliseconds, those that are further
 * away than `$2` milliseconds; `moved` is the time of a column as the clock reads now. They skip locked jobs, and keep times that a
 * host has asked for.
 */
export const queueTimeTexts = (moved: (column: string) => string) =>
  ({
    move_outbox: `with late as (
      select o.id, t.not_before from {{schema}}.outbox o
      left join {{schema}}.transfer t on t.id = {{schema}}.transfer_of_job(o.id)
      where not o.ready and o.due_at > statement_timestamp() + $2 * interval '1 millisecond'
        and o.due_at < statement_timestamp() + interval '1 year' for update of o skip locked
    )
    update {{schema}}.outbox o set due_at = greatest(${moved('o.due_at')}, l.not_before) from late l where o.id = l.id returning o.id`,
    // A live worker writes it again in a moment; a dead one's would seem alive until then.
    move_heartbeats: `with late as (
      select j.id from {{queue_table}} j
      where j.name = '{{queue}}' and j.state = 'active' and j.heartbeat_on > clock_timestamp() for update skip locked
    )
    update {{queue_table}} j set heartbeat_on = clock_timestamp() from late l where j.name = '{{queue}}' and j.id = l.id returning j.id`,
    move_supervision: `update {{queue_info}} q
    set monitor_claim_on = least(q.monitor_claim_on, clock_timestamp()), monitor_on = least(q.monitor_on, clock_timestamp()),
      maintain_on = least(q.maintain_on, clock_timestamp())
    where greatest(q.monitor_claim_on, q.monitor_on, q.maintain_on) > clock_timestamp() returning q.name`,
  }) as const
