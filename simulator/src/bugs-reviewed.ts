import type { Gateway } from '@outlay/core'
import type { Bug } from './bugs.ts'

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
        return { outcome: 'rejected', code: `http_${httpStatus}`, detail: result.detail, httpStatus }
      },
    }),
  },
  {
    name: 'an_earlier_release_takes_types_away',
    breaks: ['events_reach_their_handler', 'effects_once'],
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
    engine: (engine) => ({
      ...engine,
      transfers: {
        ...engine.transfers,
        release: async (tx, transferId) => {
          const released = await engine.transfers.release(tx, transferId)
          await tx.query(
            `update outlay_queue.job set start_after = clock_timestamp() where id = outlay.job_id($1) and state < 'active'`,
            [transferId],
          )
          return released
        },
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
        resubmit: (tx, transferId) =>
          engine.transfers.resubmit(tx, transferId, { idempotencyKey: `again-${crypto.randomUUID()}` }),
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
]
