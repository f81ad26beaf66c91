import { type Generated, Kysely, PostgresDialect, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import pg from 'pg'

/** The insurer's tables. Dollars are text here and numeric in the database: money is never a `number`. */
export interface Tables {
  /** A policy. Claims are paid up to its limit. */
  policy: {
    id: string
    /** Id of the holder's bank account at the service. */
    bank_id: string
    limit: string
    paid_out: Generated<string>
  }
  /** A reported loss, and the amount that an adjuster settled it for. */
  claim: {
    id: string
    policy_id: string
    status: Generated<'open' | 'settled' | 'paid' | 'unpaid'>
    settlement: string | null
    transfer_id: string | null
  }
}

/** The insurer's database with the pool under it. */
export interface Database {
  readonly db: Kysely<Tables>
  readonly pool: pg.Pool
}

/** Opens a pool; `db.destroy()` closes it. */
export function openDatabase(url: string): Database {
  const pool = new pg.Pool({ connectionString: url })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  return { db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }), pool }
}

const migrations: Record<string, Migration> = {
  '0001_claims': {
    async up(db) {
      await db.schema
        .createTable('policy')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('bank_id', 'text', (column) => column.notNull())
        .addColumn('limit', sql`numeric(12, 2)`, (column) => column.notNull())
        .addColumn('paid_out', sql`numeric(12, 2)`, (column) => column.notNull().defaultTo(0))
        .execute()
      await db.schema
        .createTable('claim')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('policy_id', 'text', (column) => column.notNull().references('policy.id'))
        .addColumn('status', 'text', (column) => column.notNull().defaultTo('open'))
        .addColumn('settlement', sql`numeric(12, 2)`)
        .addColumn('transfer_id', 'text', (column) => column.unique())
        .execute()
    },
  },
}

/** Migrates the insurer's own tables. */
export async function migrateDatabase({ db }: Database): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}
