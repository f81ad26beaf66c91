/*
 * The room of the queue: the outbox, in which transfers wait, and pg-boss, which has those under way. All that knows pg-boss is in
 * this folder and in the SQL with names `queue_*`: its schema, tables, columns, states and versions, and the library. An upgrade of
 * pg-boss is a change of this room. The rest of the package knows these functions:
 *
 * - put: `queue_put_one`, `queue_put_many`, and `queue_ensure` for transfers that may be in the queue
 * - fetch: `queue_fetch`, and `queue_hold` for a job that was fetched before
 * - extend: `queue_extend`, `queue_heartbeats`
 * - release until a time: `queue_defer`, `queue_defer_unlocked`; make due: `queue_wake`, `queue_wake_unlocked`
 * - remove: `queue_remove`, `queue_remove_unlocked`
 * - read: `queue_jobs`, `queue_supervised_at`
 *
 * pg-boss's are the tables, which its own SQL creates, and the supervision, which gives back the jobs of workers whose heartbeats have
 * stopped; `queue_return` puts those into the outbox. Ours is each statement that touches a job on the way of a transfer: a host writes a
 * narrow row, a claim or a settlement writes transfers and jobs in one transaction, and no worker waits for a host. pg-boss's own
 * statements can do none of that. What a job means is ours too: its id is that of its transfer, and it is active from its first moment.
 *
 * A function names one row in each statement, by its key, so that no plan reads the whole queue. It waits for a
 * locked job unless its comment says that it skips.
 */
import { createHash } from 'node:crypto'

/** Name of the queue whose jobs are transfers to submit; a job has its transfer's id, as a UUID. */
export const submitQueue = 'submit'

/** Seconds without a heartbeat after which a job goes back to the queue. */
export const heartbeatSeconds = 10

/** How pg-boss treats the jobs of our queue. */
export const queueOptions = {
  policy: 'standard',
  partition: true,
  heartbeatSeconds,
  // A worker that hangs but lives is caught by the stop and HTTP timeouts; this is the last resort.
  expireInSeconds: 23 * 3600,
  retryLimit: 1_000_000_000,
  retryDelay: 0,
  retryBackoff: false,
  retentionSeconds: 3_000_000_000 / 10,
} as const

/** Values for the tokens of our SQL that concern the queue. */
export function queueTokens(queueSchema: string): Readonly<Record<string, string>> {
  const table = `j${createHash('sha224').update(submitQueue).digest('hex')}`
  return {
    queue: submitQueue,
    queue_table: `"${queueSchema}"."${table}"`,
    queue_info: `"${queueSchema}".queue`,
    retry_limit: String(queueOptions.retryLimit),
    expire_seconds: String(queueOptions.expireInSeconds),
    heartbeat_seconds: String(heartbeatSeconds),
  }
}

/** SQL for the name of the table of jobs, for those who judge the upkeep of tables. */
export const jobTableText = `'{{queue_table}}'`
