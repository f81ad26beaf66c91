import type { Bug } from './bug.ts'

/** Mistakes about batches, corrections what a person decides about returns, fail-overs, and what was paid. */
export const batchBugs: readonly Bug[] = [
  {
    name: 'a_batch_completes_while_somebody_enqueues',
    breaks: ['batches_complete'],
    sql: {
      on: 'host',
      name: 'complete_batch',
      from: ` or not pg_try_advisory_xact_lock({{schema}}.batch_lock(p_id))`,
      to: '',
    },
  },
  {
    name: 'a_batch_completes_although_something_waits',
    breaks: ['batches_complete'],
    sql: {
      on: 'host',
      name: 'complete_batch',
      from: 'where n.batch_id = p_id and n.unended <> 0',
      to: 'where n.batch_id = p_id and n.unended <> n.pending',
    },
  },
  {
    name: 'a_batch_completes_twice',
    breaks: ['batches_complete'],
    sql: [
      { on: 'host', name: 'fold_batches', from: 'where b.completed_at is null', to: 'where true' },
      {
        on: 'host',
        name: 'fold_batches',
        from: 'where b.id = v_id and b.completed_at is null) then',
        to: 'where b.id = v_id) then',
      },
      {
        on: 'host',
        name: 'complete_batch',
        from: 'where b.id = p_id and b.completed_at is null;',
        to: 'where b.id = p_id;',
      },
    ],
  },
  {
    name: 'a_successor_is_counted_beside_what_it_replaces',
    breaks: ['batches_count'],
    sql: { on: 'host', name: 'record_batched', from: 'if p_replaces is not null then', to: 'if false then' },
  },
  {
    name: 'what_is_in_the_batch_already_is_counted_again',
    breaks: ['batches_count'],
    sql: {
      on: 'host',
      name: 'enqueue_many_with',
      from: `where n.batch_id <> '' and n.position <> all (v_stored) group by`,
      to: `where n.batch_id <> '' group by`,
    },
  },
  {
    name: 'a_canceled_batch_keeps_what_its_pause_deferred',
    breaks: ['batches_obey'],
    sql: {
      on: 'host',
      name: 'cancel_batch',
      from: `and {{schema}}.effect_of(t) = 'none'`,
      to: `and {{schema}}.effect_of(t) = 'none' and t.reason is distinct from 'batch_paused'`,
    },
  },
  {
    name: 'a_batch_is_canceled_although_an_outcome_is_unknown',
    breaks: ['same_on_both_sides', 'one_effect', 'status_path'],
    sql: { on: 'host', name: 'cancel_batch', from: `and {{schema}}.effect_of(t) = 'none'`, to: '' },
  },
  {
    name: 'a_pause_is_for_what_was_never_sent',
    breaks: ['batches_obey'],
    sql: {
      on: 'host',
      name: 'defer_paused_batches',
      from: `t.stage in ('queued', 'submitting', 'awaiting_funds')`,
      to: `t.stage in ('queued', 'submitting', 'awaiting_funds') and t.attempt = 0`,
    },
  },
  {
    name: 'a_resume_forgets_what_was_sent_before',
    breaks: ['nothing_stuck'],
    sql: {
      on: 'host',
      name: 'wake_resumed_batches',
      from: `t.reason = 'batch_paused'`,
      to: `t.reason = 'batch_paused' and t.attempt = 0`,
    },
  },
  {
    name: 'a_resume_forgets_what_a_host_has_locked',
    breaks: ['nothing_stuck'],
    sql: {
      on: 'host',
      name: 'wake_resumed_batches',
      from: `t.reason = 'batch_paused' and t.stage = 'queued') then`,
      to: 'false) then',
    },
  },
  {
    name: 'each_correction_has_a_place_of_its_own',
    breaks: ['corrected_once', 'one_effect'],
    sql: {
      on: 'host',
      name: 'record_resubmission',
      from: 'select r.successor_id into record_resubmission.successor_id from {{schema}}.resubmission r where r.transfer_id = p_id;',
      to: 'record_resubmission.successor_id := v_id;',
    },
  },
  {
    name: 'a_successor_is_in_no_batch',
    breaks: ['corrected_once'],
    sql: { on: 'host', name: 'batch_refusal', from: 'or not p_replaces and exists (', to: 'or exists (' },
  },
  {
    name: 'a_decided_return_is_withdrawn',
    breaks: ['returns_once'],
    sql: {
      on: 'host',
      name: 'record_returns',
      from: 'and h.sequence is null and h.resolved_at is null',
      to: 'and h.sequence is null',
    },
  },
  {
    name: 'a_decision_about_a_return_is_forgotten',
    breaks: ['returns_once', 'effects_once'],
    sql: {
      on: 'host',
      name: 'resolve_return',
      from: 'resolution_note = p_reason, sequence = v_sequence,',
      to: 'resolution_note = p_reason, sequence = null,',
    },
  },
  {
    name: 'failover_on_unknown',
    breaks: ['one_effect', 'ledger'],
    handlers: (handlers) => ({
      ...handlers,
      async submit(...call) {
        const settlement = await handlers.submit(...call)
        const isUnknown = settlement.stage === 'queued' && settlement.unknownSince !== null
        if (!isUnknown || call[0].gateway !== 'default' || handlers.gateways.length < 2) return settlement
        const failure = { type: 'rejected', code: 'unknown', detail: '', occurredAt: new Date().toISOString() } as const
        return {
          ...{ ...settlement, stage: 'settled', status: 'failed', reason: 'failover' },
          failure: { ...failure, retriable: false },
          ...{ unknownSince: null, retryAfterMs: null, events: [{ type: 'transfer.failed' }] },
        }
      },
    }),
  },
  {
    name: 'paid_amount_ignored',
    breaks: ['same_on_both_sides', 'ledger'],
    sql: { on: 'host', name: 'record_paid', from: 'where t.ctid = p.place', to: 'where false and t.ctid = p.place' },
  },
]
