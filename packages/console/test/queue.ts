import type pg from 'pg'

/** Lets the heartbeats of all jobs be older than the queue waits for: those who had them are gone. */
export const silenceJobs = (pool: pg.Pool): Promise<unknown> =>
  pool.query(`update outlay_queue.job set heartbeat_on = now() - interval '1 hour' where state = 'active'`)
