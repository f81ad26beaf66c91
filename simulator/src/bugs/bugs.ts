import type { Gateway, SubmitResult } from '@outlay/core'
import type { DecideChange } from '@outlay/core/adapter'
import { readObservation } from '@outlay/http-client'
import type { PoolClient } from 'pg'
import { batchBugs } from './batch-bugs.ts'
import type { Bug, SqlChange } from './bug.ts'
import { movingBugs } from './moving-bugs.ts'
import { reviewedBugs } from './reviewed.ts'

const submitting =
  (change: (result: SubmitResult, key: string) => SubmitResult) =>
  (gateway: Gateway): Gateway => ({
    ...gateway,
    submit: async (submission, options) => change(await gateway.submit(submission, options), submission.idempotencyKey),
  })

/** What a service that forgets nothing has refused. */
const refusedEver = new Map<string, SubmitResult>()

/** Whatever was observed last is true. */
const believeAll: DecideChange = (current, { status, failure, reachedAt }) => ({
  stage: ['complete', 'failed', 'canceled'].includes(status) ? 'settled' : 'submitted',
  status,
  failure,
  reachedAt: reachedAt ?? null,
  events:
    current.status === status || status === 'pending'
      ? []
      : [{ type: `transfer.${status === 'complete' ? 'completed' : status}` as 'transfer.completed' }],
})

/** The mistakes that the simulator is tested with. */
export const bugs: readonly Bug[] = [
  ...reviewedBugs,
  ...batchBugs,
  ...movingBugs,
  {
    name: 'a_new_key_per_attempt',
    breaks: ['one_effect', 'keys'],
    gateway: (gateway) => ({
      ...gateway,
      submit: (submission, options) =>
        gateway.submit(
          { ...submission, idempotencyKey: `${submission.idempotencyKey}-${submission.attempt}` },
          options,
        ),
    }),
  },
  {
    name: 'a_return_that_is_reported_again_is_another_one',
    breaks: ['returns_once'],
    sql: {
      on: 'host',
      name: 'record_returns',
      from: 'on conflict do nothing',
      to: 'on conflict (transfer_id, identity) do update set sequence = null',
    },
  },
  {
    name: 'an_audit_whose_hashes_do_not_depend_on_each_other',
    breaks: ['audit_chained'],
    sql: { on: 'host', name: 'chain_audit', from: 'concat(v_hash, chr(10),', to: 'concat(chr(10),' },
  },
  {
    name: 'a_quote_is_used_again',
    breaks: ['quotes_once'],
    sql: { on: 'service', name: 'quote_claim', from: 'and q.transfer_id is null', to: '' },
  },
  {
    name: 'creator_approves',
    breaks: ['approved_by_two'],
    backend: (backend) => ({
      ...backend,
      async lockHolds(tx, transferId) {
        const held = await backend.lockHolds(tx, transferId)
        return held === undefined ? held : { ...held, createdBy: null, earlierCreators: [] }
      },
    }),
  },
  {
    name: 'held_is_dispatched',
    breaks: ['approved_by_two'],
    sql: [
      { on: 'host', name: 'record_enqueued', from: 'and (p_held is null or n.id <> all (p_held))', to: '' },
      {
        on: 'host',
        name: 'fetch_for_gateways',
        from: `t.stage in ('queued', 'submitting', 'awaiting_funds')`,
        to: `t.stage in ('held', 'queued', 'submitting', 'awaiting_funds')`,
      },
    ],
  },
  {
    name: 'stale_policy_passes',
    breaks: ['approved_by_two'],
    sql: [
      {
        on: 'host',
        name: 'enqueue_one_with',
        from: `if v_tag is distinct from p_beside ->> 'policies' then`,
        to: 'if false then',
      },
      {
        on: 'host',
        name: 'enqueue_many_with',
        from: `if v_is_judged and v_tag is distinct from v_first ->> 'policies' then`,
        to: 'if false then',
      },
    ],
  },
  {
    name: 'a_payee_is_known_before_it_is_paid',
    breaks: ['earlier_payments'],
    sql: { on: 'host', name: 'payment_facts', from: `and t.status = 'complete'`, to: `and t.status <> 'canceled'` },
  },
  {
    name: 'every_payee_is_new',
    breaks: ['earlier_payments'],
    sql: { on: 'host', name: 'payment_facts', from: `and t.status = 'complete'`, to: 'and false' },
  },
  {
    name: 'lookalikes_are_compared_at_the_enqueue_alone',
    breaks: ['earlier_payments'],
    sql: { on: 'host', name: 'hold_lookalikes', from: 'continue when v_policies is null;', to: 'continue;' },
  },
  {
    name: 'another_amount_looks_alike',
    breaks: ['earlier_payments'],
    sql: {
      on: 'host',
      name: 'find_lookalike',
      from: `and {{schema}}.amount_of(t.request -> 'amount') = p_amount`,
      to: '',
    },
  },
  {
    name: 'limit_read_before_the_lock',
    breaks: ['within_limits'],
    sql: [
      {
        on: 'host',
        name: 'charge_limits',
        from: 'v_short := {{schema}}.lock_uses',
        to: 'v_left := {{schema}}.limits_left(n.counters, n.scopes, n.began_at); perform pg_sleep(0.1); v_short := {{schema}}.lock_uses',
      },
      {
        on: 'host',
        name: 'charge_limits',
        from: 'v_left := {{schema}}.limits_left(n.counters, n.scopes, n.began_at);\n\n',
        to: '\n',
      },
    ],
  },
  {
    name: 'screening_error_passes',
    breaks: ['screened'],
    handlers: (handlers) => {
      const { screening } = handlers
      if (screening === undefined) return handlers
      const screen: typeof screening.screen = async (transfer, signal) => {
        const { answer = { result: 'pass' } } = await screening.screen(transfer, signal)
        return { answer }
      }
      return { ...handlers, screening: { ...screening, screen } }
    },
  },
  {
    name: 'screened_is_queued',
    breaks: ['screened'],
    sql: {
      on: 'host',
      name: 'write_screening_answers',
      from: `filter (where g.is_counted and g.result = 'pass')`,
      to: `filter (where g.is_counted and g.result in ('pass', 'hold'))`,
    },
  },
  {
    name: 'one_pass_is_that_of_its_batch',
    breaks: ['screened'],
    sql: {
      on: 'host',
      name: 'write_screening_answers',
      from: `select array_agg(g.id) filter (where g.is_counted and g.result = 'pass')`,
      to: `select case when bool_or(g.is_counted and g.result = 'pass') then array_agg(g.id) filter (where g.is_counted) end`,
    },
  },
  {
    name: 'no_fence_at_settle',
    breaks: ['status_path', 'nothing_stuck', 'same_on_both_sides', 'one_effect', 'keys'],
    sql: {
      on: 'host',
      name: 'write_settlements',
      from: `where t.ctid = s.place and (t.attempt = s.attempt and t.stage = 'submitting'`,
      to: 'where t.ctid = s.place and (true',
    },
  },
  {
    name: 'job_outside_the_transaction',
    breaks: ['one_effect', 'judge'],
    statements: { _enqueue_one: /./ },
    driver: (driver, { host }) => ({
      ...driver,
      execute: async (tx, statement, values) =>
        /_enqueue_(one|many)$/.test(statement.name)
          ? (await host.query(statement.text, [...values])).rows
          : driver.execute(tx, statement, values),
    }),
  },
  {
    name: 'handler_failure_is_acknowledged',
    breaks: ['effects_once', 'events_reach_their_handler'],
    handlerFailureIsSwallowed: true,
  },
  { name: 'handler_writes_outside_the_transaction', breaks: ['effects_once'], handlerWritesOutside: true },
  {
    name: 'insufficient_balance_is_remembered',
    breaks: ['nothing_stuck'],
    gateway: (gateway) => {
      return {
        ...gateway,
        async submit(submission, options) {
          const { idempotencyKey } = submission
          const known = refusedEver.get(idempotencyKey)
          if (known !== undefined) return known
          const result = await gateway.submit(submission, options)
          if (result.outcome === 'insufficient_balance') refusedEver.set(idempotencyKey, result)
          return result
        },
      }
    },
  },
  {
    name: 'hold_is_not_voided',
    breaks: ['ledger'],
    sql: {
      on: 'service',
      name: 'ledger_apply_many',
      from: 'where jsonb_array_length(g.lines) > 0',
      to: `where jsonb_array_length(g.lines) > 0 and g.step <> 'void'`,
    },
  },
  {
    name: 'no_check_of_the_balance',
    breaks: ['ledger'],
    withoutConstraint: ['ledger_account', 'ledger_account_not_overdrawn'],
    sql: {
      on: 'service',
      name: 'ledger_hold',
      from: 'and a.available >= v_amount',
      to: '',
    },
  },
  {
    name: 'unknown_is_taken_for_failed',
    breaks: ['same_on_both_sides', 'one_effect'],
    gateway: submitting((result) =>
      result.outcome === 'unknown' ? { outcome: 'rejected', code: 'timeout', detail: result.detail } : result,
    ),
  },
  {
    name: 'any_signature_will_do',
    breaks: ['same_on_both_sides', 'status_path'],
    webhooks: () => ({
      verify: async ({ body }) => {
        const event = JSON.parse(Buffer.from(body as Uint8Array).toString())
        return readObservation(event)
      },
    }),
  },
  {
    name: 'any_status_follows_any',
    breaks: ['status_path', 'same_on_both_sides'],
    backend: (backend) => ({
      ...backend,
      receive: (accountId, observation, rules) =>
        backend.receive(accountId, observation, { ...rules, decide: believeAll }),
    }),
  },
  {
    name: 'cancel_although_the_outcome_is_unknown',
    breaks: ['same_on_both_sides', 'one_effect'],
    sql: { on: 'host', name: 'cancel', from: `and {{schema}}.effect_of(t) = 'none'`, to: '' },
  },
  {
    name: 'an_event_is_not_recorded',
    breaks: ['status_path', 'effects_once', 'events_reach_their_handler'],
    sql: {
      on: 'host',
      name: 'record_events',
      from: 'join {{schema}}.transfer t on t.id = e.id;',
      to: `join {{schema}}.transfer t on t.id = e.id where e.type <> 'transfer.failed';`,
    },
  },
  {
    name: 'a_delivery_is_not_written',
    breaks: ['effects_once', 'events_reach_their_handler'],
    sql: {
      on: 'host',
      name: 'record_events',
      from: 'on s.types @> array[e.type]',
      to: `on s.types @> array[e.type] and e.sequence % 3 <> 0`,
    },
  },
  {
    name: 'lost_jobs_are_not_found',
    breaks: ['nothing_stuck'],
    statements: { _unsubmitted: /./ },
    driver: (driver) => ({
      ...driver,
      query: async (statement, values) =>
        statement.name.endsWith('_unsubmitted') ? [] : driver.query(statement, values),
    }),
  },
  {
    name: 'an_answer_without_an_effect_is_believed',
    breaks: ['one_effect', 'nothing_stuck', 'keys'],
    gateway: submitting((result, key) =>
      result.outcome === 'unknown' ? { outcome: 'accepted', remoteId: key } : result,
    ),
  },
]

/** The databases that a bug is planted in. */
type Databases = Readonly<Record<'host' | 'service', Pick<PoolClient, 'query'>>>

/** Changes functions of databases as a bug says; gives what changes them back. */
export async function plantInDatabase(bug: Bug, pools: Databases): Promise<() => Promise<void>> {
  if (bug.withoutConstraint !== undefined) {
    const [table, name] = bug.withoutConstraint
    await pools.service.query(`alter table outlay_service.${table} drop constraint ${name}`)
  }
  const undo: (() => Promise<unknown>)[] = []
  for (const change of [bug.sql ?? []].flat()) {
    const before = await changeFunction(change, pools)
    undo.unshift(() => pools[change.on].query(before))
  }
  return async () => {
    for (const one of undo) await one()
  }
}

/** Changes a function; gives the text that it had. */
async function changeFunction({ on, name, from, to }: SqlChange, pools: Databases): Promise<string> {
  const schema = on === 'host' ? 'outlay' : 'outlay_service'
  const fill = (text: string) => text.replaceAll('{{schema}}', `"${schema}"`)
  const { rows } = await pools[on].query<{ readonly text: string }>(
    'select pg_get_functiondef(p.oid) as text from pg_proc p where p.pronamespace = $1::regnamespace and p.proname = $2',
    [schema, name],
  )
  const text = rows[0]?.text ?? ''
  if (!text.includes(fill(from))) throw new Error(`${schema}.${name} does not say ${fill(from)}`)
  await pools[on].query(text.replace(fill(from), () => fill(to)))
  return text
}
