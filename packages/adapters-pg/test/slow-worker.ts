import type pg from 'pg'
import { loseJobs } from './queue.ts'

/** What a worker writes that stood still: it claims by the same functions, and its answers come when its jobs are others'. */
export function slowWorker(pool: () => pg.Pool) {
  return {
    /** Claims all transfers, whose workers have lost their jobs. */
    async claim(): Promise<void> {
      await loseJobs(pool())
      await pool().query(`select * from outlay.fetch_and_claim(10, 'slow', '', null)`)
    },
    /** Makes all jobs due, as if their workers had been dead for some time. */
    async lose(): Promise<void> {
      await loseJobs(pool())
    },
    /** Writes the outcome of an attempt. */
    async settle(id: string, attempt: number, outcome: object): Promise<string> {
      const { job } = (await pool().query('select outlay.job_id($1) as job', [id])).rows[0]
      const settlement = { id, job, attempt, worker: 'slow', status: 'pending', events: [], ...outcome }
      const { rows } = await pool().query('select result from outlay.settle($1, 2)', [JSON.stringify([settlement])])
      return rows[0].result
    },
    /** The submission of the last attempt, as its worker sends it. */
    async submission(id: string) {
      const { rows } = await pool().query(
        'select account_id, submission_key, request, attempt from outlay.transfer where id = $1',
        [id],
      )
      const { account_id: accountId, submission_key: idempotencyKey, request, attempt } = rows[0]
      return { transferId: id, accountId, idempotencyKey, request, attempt }
    },
    accepted: (remoteId: string) => ({
      ...{ outcome: 'accepted', http_status: 201, stage: 'submitted', status: 'processing', remote_id: remoteId },
      events: ['transfer.submitted'],
    }),
  }
}

/** A lack of funds, as the service of this project answers it. */
export const poor = { outcome: 'insufficient_balance', detail: 'none', keyEvaluated: true, httpStatus: 422 } as const
