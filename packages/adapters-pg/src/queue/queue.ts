/*
 * The room of the queue. Everything that knows pg-boss is in this folder and in the SQL of the names `queue_*`: its schema, tables,
 * columns, states and versions, and the library itself. The rest of the package puts jobs, fetches them, extends them, defers, wakes
 * and removes them with the functions `queue_*`, and reads them from `queue_jobs()`. An upgrade of pg-boss is a change of this room.
 *
 * pg-boss's are the schema of its tables, which its own SQL creates, and the supervision, which gives back the jobs of workers whose
 * heartbeats have stopped: leases, heartbeats and what happens when a process dies are what we do not want to write again.
 *
 * Ours is every statement that touches a job on the way of a transfer. A host's enqueue is one statement, a claim and a settlement write
 * transfers and jobs in one transaction, and no worker waits for a host; pg-boss's own statements can do none of these. What a
 * job means is ours too: its id is the id of its transfer, its place is the virtual time of the dispatch, and when it is due is up
 * to the caller.
 *
 * A function `queue_*` names one job in each statement, by both columns of the key, so that no plan can read the whole queue. It waits for
 * a locked job, unless its name ends with `_unlocked`, and says so where it skips.
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
