import type pg from 'pg'
import { jobTable, outboxTable } from './queue.ts'

/** Claims all transfers in commits that the standby, which is the primary from then on, does not have. */
export async function claimAndLose(pool: pg.Pool, claim: () => Promise<unknown>): Promise<void> {
  const tables = [outboxTable, jobTable, 'outlay.transfer', 'outlay.attempt']
  for (const table of tables) await pool.query(`create table ${table}_before as table ${table}`)
  await claim()
  await pool.query(
    `delete from outlay.attempt; delete from ${jobTable}; delete from ${outboxTable}; delete from outlay.transfer`,
  )
  for (const table of tables) {
    const { rows } = await pool.query(
      `select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
       where table_schema || '.' || table_name = $1 and is_generated = 'NEVER'`,
      [table],
    )
    const { columns } = rows[0]
    await pool.query(
      `insert into ${table} (${columns}) select ${columns} from ${table}_before; drop table ${table}_before`,
    )
  }
}
