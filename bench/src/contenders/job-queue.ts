import type { QueueDatabase } from '../queue-database.ts'
import type { Sender } from '../steady-host.ts'

/** A queue of jobs in Postgres, filled in the transactions of hosts and emptied by one worker. */
export interface JobQueue extends Sender {
  readonly name: string
  readonly database: QueueDatabase
  /** Starts the worker; calls `handle` with the number of each job, a hundred at once. */
  start(handle: (n: number) => Promise<void>): Promise<void>
  /** Stops the worker after the jobs under way have ended. */
  stop(): Promise<void>
  /** The number of jobs that are not done yet, according to the database. */
  countOpen(): Promise<number>
  /** Deletes every job. */
  empty(): Promise<void>
  /** A condition on `pg_class c`: the tables from which a worker fetches jobs, and in which it marks them. */
  readonly tables: string
  /** True where a lost job fails the run; elsewhere it is a figure. */
  readonly keepsAll: boolean
  close(): Promise<void>
}

/** Jobs under way at once, and connections of the worker. */
export const slots = 100
export const workerConnections = 20

/** Seconds without a sign of life after which a job goes to another worker; the same in every queue. */
export const leaseSeconds = 10
