import { heartbeatSeconds } from '../queue/queue.ts'
import type { AttemptStore, FetchedJob } from './attempts.ts'

/** The jobs that a worker has, and for how long nobody else can have got them. */
export interface HeldJobs {
  /** Begins with when the fetch was sent, by the monotonic clock: the answer may have waited for a process that stood still. */
  add(job: FetchedJob, sentAt: number): void
  delete(job: FetchedJob): void
  size(): number
  /** True while nobody else can have the job: a request may begin. */
  isOurs(job: FetchedJob): boolean
  /** Says of all of them that they are still worked on. */
  keepAlive(): Promise<void>
}

/** For how long a heartbeat counts, in milliseconds. Then the job goes to another worker, which may end its transfer or have it canceled. */
const leaseMs = heartbeatSeconds * 1000 - 500

/** Makes the list, empty. */
export function createHeldJobs(attempts: Pick<AttemptStore, 'touch'>): HeldJobs {
  const aliveAt = new Map<FetchedJob, number>()
  const latest = new Map<string, FetchedJob>()
  const lose = (job: FetchedJob) => void aliveAt.set(job, Number.NEGATIVE_INFINITY)
  const wasOurs = (job: FetchedJob, at: number) => at - (aliveAt.get(job) ?? Number.NEGATIVE_INFINITY) < leaseMs
  return {
    add(job, sentAt) {
      // This worker itself may have fetched a job that it lost.
      const earlier = latest.get(job.id)
      if (earlier !== undefined) lose(earlier)
      latest.set(job.id, job)
      aliveAt.set(job, sentAt)
    },
    delete(job) {
      aliveAt.delete(job)
      if (latest.get(job.id) === job) latest.delete(job.id)
    },
    size: () => aliveAt.size,
    isOurs: (job) => wasOurs(job, performance.now()),
    async keepAlive() {
      const jobs = [...aliveAt.keys()]
      if (jobs.length === 0) return
      // What is answered may have waited for a process that stood still.
      let sentAt = performance.now()
      const ages = await attempts.touch(jobs, () => {
        sentAt = performance.now()
      })
      for (const job of jobs) {
        // The heartbeat of a job that was lost may be that of a new job of the transfer, which another worker has.
        if (!aliveAt.has(job) || !wasOurs(job, sentAt)) continue
        // A clock that goes forward takes jobs away at once, and one that was set back makes heartbeats younger than they are.
        const ageMs = ages.get(job.id)
        if (ageMs === undefined) lose(job)
        else aliveAt.set(job, sentAt - Math.max(0, ageMs))
      }
    },
  }
}
