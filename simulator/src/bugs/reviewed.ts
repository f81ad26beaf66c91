import type { Gateway } from '@outlay/core'
import { makeJobDue } from '../queue.ts'
import type { Bug } from './bug.ts'

type Row = Readonly<Record<string, unknown>>

/** Lets calls happen one after the other, as if they waited for each other. */
function oneByOne() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(call: () => Promise<T>): Promise<T> => {
    const next = last.then(call, call)
    last = next.catch(() => undefined)
    return next
  }
}

const readingOneByOne = (gateway: Gateway): Gateway => {
  const { list } = gateway
  const inTurn = oneByOne()
  return {
    ...gateway,
    get: (accountId, remoteId, options) => inTurn(() => gateway.get(accountId, remoteId, options)),
    ...(list === undefined ? {} : { list: (accountId, options) => inTurn(() => list(accountId, options)) }),
  }
}

/** Statuses of refusals; those that say to come again are none. */
const isRefusal = (status = 0): boolean =>
  status >= 400 && status < 500 && ![401, 403, 408, 409, 425, 429].includes(status)

/** Locks that wait for the holder of a row, without a limit. */
const waitingLocks = ['lock_claimable', 'lock_settled'].map((name) => ({
  on: 'host' as const,
  name,
  from: 'order by t.id for no key update skip locked',
  to: 'order by t.id for update',
}))
const endlessWaits = ['claim', 'claim_for_gateways', 'settle'].map((name) => ({
  on: 'host' as const,
  name,
  from: ` SET lock_timeout TO '250ms'\n`,
  to: '',
}))

/** Mistakes that a review has found in the engine. They are planted as they were. */
export const reviewedBugs: readonly Bug[] = [
  {
    name: 'a_page_of_a_proxy_is_a_refusal',
    breaks: ['one_effect', 'same_on_both_sides'],
    gateway: (gateway) => ({
      ...gateway,
      async submit(submission, options) {
        const result = await gateway.submit(submission, options)
        const { httpStatus } = result
        if (result.outcome !== 'unknown' || !isRefusal(httpStatus)) return result
        const code = `http_${httpStatus}`
        return { outcome: 'rejected', code, detail: result.detail, httpStatus, keyEvaluated: true }
      },
    }),
  },
  {
    name: 'keys_live_for_ever',
    breaks: ['key_lifetime', 'one_effect'],
    gateway: (gateway) => ({ ...gateway, keyLifetimeMs: Number.MAX_SAFE_INTEGER }),
  },
  {
    name: 'another_answer_ends_what_is_unknown',
    breaks: ['unknown_is_bounded', 'key_lifetime', 'one_client_while_unknown', 'one_effect', 'same_on_both_sides'],
    handlers: (handlers) => ({
      ...handlers,
      submit: (claim, ...call) => handlers.submit({ ...claim, unknownSince: null }, ...call),
    }),
  },
  {
    name: 'a_key_without_its_account',
    breaks: ['judge', 'nothing_stuck', 'one_effect', 'tenant_served'],
    sql: {
      on: 'host',
      name: 'submission_key',
      from: `octet_length(p_account_id), ':', p_account_id, `,
      to: '',
    },
  },
  {
    name: 'whoever_has_the_account_sends',
    breaks: ['one_client_while_unknown', 'one_effect'],
    gateway: ({ identify: _whoever, ...gateway }) => gateway,
  },
  {
    name: 'workers_wait_for_hosts',
    breaks: ['tenant_served', 'host_is_no_victim'],
    sql: [...waitingLocks, ...endlessWaits],
  },
  {
    name: 'foreign_code_has_no_bounds',
    breaks: ['tenant_served'],
    runtime: { timer: { after: () => () => undefined } },
    credentialsMs: 86_400_000,
    work: { slowAfterMs: 86_400_000 },
  },
  {
    name: 'handlers_have_no_bounds',
    breaks: ['tenant_served'],
    handlers: (handlers) => ({
      ...handlers,
      subscriptions: handlers.subscriptions.map((one) => ({ ...one, timeoutMs: 86_400_000 })),
    }),
  },
  {
    name: 'an_answer_that_cannot_be_written',
    breaks: ['tenant_served', 'nothing_stuck'],
    statements: { _settle: /an answer that is not understood/ },
    driver: (driver) => ({
      ...driver,
      query: async (statement, values) => {
        // An answer that was not parsed at the border had no JSON, and the engine did not distinguish it from an unreachable server.
        if (statement.name.endsWith('_settle') && String(values[0]).includes('an answer that is not understood'))
          throw new TypeError('Do not know how to serialize a BigInt')
        return driver.query(statement, values)
      },
    }),
  },
  {
    name: 'the_same_transfer_probes_again',
    breaks: ['tenant_served'],
    statements: { _due_probes: /./ },
    // Whatever the last probe was, the sweep wakes the first of those that wait, too.
    driver: (driver, { host }) => ({
      ...driver,
      query: async (statement, values) => {
        const rows = await driver.query(statement, values)
        if (!statement.name.endsWith('_due_probes') || rows.length === 0) return rows
        const { rows: first } = await host.query<Row>(
          `select distinct on (t.account_id) t.id from outlay.transfer t
           where t.account_id in (select w.account_id from outlay.transfer w where w.id = any ($1))
             and t.stage = 'queued' and t.reason = 'unauthenticated' order by t.account_id, t.id`,
          [rows.map((row) => row['id'])],
        )
        return first
      },
    }),
    sql: { on: 'host', name: 'defer_unauthorized', from: 'm.was_probed is true, m.id', to: 'm.id' },
  },
  {
    name: 'an_earlier_release_takes_types_away',
    breaks: ['events_reach_their_handler', 'effects_once'],
    statements: { _register: /./ },
    driver: (driver, { host }) => ({
      ...driver,
      query: async (statement, values) => {
        const rows = await driver.query(statement, values)
        if (statement.name.endsWith('_register'))
          await host.query('update outlay.subscription set types = $2 where name = $1', [values[0], values[1]])
        return rows
      },
    }),
  },
  {
    name: 'a_release_forgets_the_time',
    breaks: ['never_before_its_time'],
    sql: {
      on: 'host',
      name: 'lock_claimable',
      from: 'f.not_before > clock_timestamp() as is_early',
      to: 'false as is_early',
    },
    engine: (engine) => ({
      ...engine,
      transfers: {
        ...engine.transfers,
        release: async (tx, transferId) => {
          const released = await engine.transfers.release(tx, transferId)
          await tx.query(makeJobDue, [transferId])
          return released
        },
      },
    }),
  },
  {
    name: 'a_resubmission_forgets_the_time',
    breaks: ['never_before_its_time'],
    engine: (engine) => ({
      ...engine,
      transfers: {
        ...engine.transfers,
        resubmit: (tx, transferId, options) =>
          engine.transfers.resubmit(tx, transferId, { ...options, notBefore: null, expiresAt: null }),
      },
    }),
  },
  {
    name: 'each_resubmission_is_another_one',
    breaks: ['one_effect'],
    engine: (engine) => ({
      ...engine,
      transfers: {
        ...engine.transfers,
        async resubmit(tx, transferId) {
          const options = { idempotencyKey: `again-${crypto.randomUUID()}` }
          const again = await engine.transfers.resubmit(tx, transferId, options)
          await tx.query('delete from outlay.resubmission where transfer_id = $1', [transferId])
          return again
        },
      },
    }),
  },
  {
    name: 'reads_of_accounts_wait_for_each_other',
    breaks: ['tenant_served'],
    gateway: readingOneByOne,
  },
  {
    name: 'an_engine_closes_the_gateway_of_others',
    breaks: ['tenant_served'],
    engine: (engine, { gateway }) => ({
      ...engine,
      async stop() {
        await engine.stop()
        await gateway.close?.()
      },
    }),
  },
  {
    name: 'a_failed_statement_leaves_its_connection',
    breaks: ['host_pool_is_clean'],
    driver: (driver, { pool }) => ({
      ...driver,
      async run(text, values) {
        const client = await pool.connect()
        try {
          const result: unknown = await client.query(text, values === undefined ? undefined : [...values])
          const last = (Array.isArray(result) ? result.at(-1) : result) as { readonly rows?: Row[] }
          return { rows: last.rows ?? [] }
        } finally {
          client.release()
        }
      },
    }),
  },
]
