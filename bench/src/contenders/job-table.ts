import type { Client } from 'pg'
import { sampleTransfer } from '../sample-transfer.ts'

/** Creates the single table of the pattern: what is to be done, and whether it is. An index finds what is pending, the oldest first. */
export async function createJobTable(admin: Client): Promise<void> {
  await admin.query(`create table jobs (
    id bigint generated always as identity primary key, status text not null default 'pending', payload jsonb not null,
    attempts integer not null default 0, created_at timestamptz not null default now(), updated_at timestamptz
  ) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)`)
  await admin.query(`create index jobs_pending on jobs (id) where status = 'pending'`)
}

/** The insert of the job for the n-th transfer, as a named statement. */
export const insertJob = (n: number) => ({
  name: 'insert_job',
  text: 'insert into jobs (payload) values ($1)',
  values: [JSON.stringify(sampleTransfer(n))],
})
