import type { Database } from '../database.ts'

/* All that the benchmarks know of the queue behind the engine. */

/** Name of the table of what waits to be sent. */
export const outboxTable = 'outlay.outbox'

/** Counts the transfers that are still to be sent, and those whose outcome is still to be written. */
export const countJobs = (database: Pick<Database, 'count'>): Promise<number> =>
  database.count('select count(*) from outlay.queue_jobs()')

/** A condition on `pg_class c`: the outbox, and the tables of the jobs under way. */
export const queueTables = `c.oid = '${outboxTable}'::regclass or c.relnamespace = 'outlay_queue'::regnamespace`
