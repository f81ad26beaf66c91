import { type EntityManager, MikroORM } from '@mikro-orm/postgresql'
import pg from 'pg'
import { Entry, Saver, Withdrawal } from './entities.ts'

/** The savings app's database: MikroORM for its own work, and a pool of node-postgres for the engine's workers. */
export interface Database extends AsyncDisposable {
  readonly orm: MikroORM
  readonly pool: pg.Pool
}

/** Opens both. */
export async function openDatabase(url: string): Promise<Database> {
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: [Saver, Entry, Withdrawal],
    pool: { max: 20 },
    // What is no entity is dropped by an update of the schema: the engine's tables, too, but for this.
    schemaGenerator: { ignoreSchema: ['outlay', 'outlay_queue'] },
  })
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  return {
    orm,
    pool,
    async [Symbol.asyncDispose]() {
      await orm.close()
      await pool.end()
    },
  }
}

/** Makes the app's own tables. */
export async function migrateDatabase({ orm }: Database): Promise<void> {
  await orm.schema.create()
}

/** Reads a balance in dollars: what is flushed, and no more. */
export async function readBalance(em: EntityManager, saverId: string): Promise<string> {
  const sql = 'select coalesce(sum(amount), 0)::numeric(12, 2)::text as balance from entry where saver_id = ?'
  const { balance } = await em.execute<{ balance: string }>(sql, [saverId], 'get')
  return balance
}
