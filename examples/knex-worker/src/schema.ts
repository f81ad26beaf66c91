import knex, { type Knex } from 'knex'

/** An author of a publisher. Royalties are the earnings since the last statement, in dollars. */
export interface Author {
  readonly id: string
  /** Id of the author's bank account at the service. */
  readonly bank_id: string
  readonly royalties: string
}

/** A month whose royalties are paid out, with at most `budget` dollars. */
export interface Period {
  readonly id: string
  readonly budget: string
  readonly closed_at: Date | null
}

/** The payment of one author for one period. */
export interface Statement {
  readonly period_id: string
  readonly author_id: string
  readonly amount: string
  readonly status: 'on_its_way' | 'paid' | 'unpaid'
  readonly transfer_id: string
}

/** Opens a pool; `db.destroy()` closes it. */
export function openDatabase(url: string): Knex {
  return knex({ client: 'pg', connection: url, pool: { min: 0, max: 10 } })
}

const migrations: readonly (Knex.Migration & { readonly name: string })[] = [
  {
    name: '0001_royalties',
    async up(db) {
      await db.schema.createTable('author', (table) => {
        table.text('id').primary()
        table.text('bank_id').notNullable()
        table.decimal('royalties', 12, 2).notNullable().defaultTo(0)
      })
      await db.schema.createTable('period', (table) => {
        table.text('id').primary()
        table.decimal('budget', 12, 2).notNullable()
        table.timestamp('closed_at')
      })
      await db.schema.createTable('statement', (table) => {
        table.text('period_id').notNullable().references('period.id')
        table.text('author_id').notNullable().references('author.id')
        table.decimal('amount', 12, 2).notNullable()
        table.text('status').notNullable().defaultTo('on_its_way')
        table.text('transfer_id').notNullable().unique()
        table.primary(['period_id', 'author_id'])
      })
    },
    async down(db) {
      for (const table of ['statement', 'period', 'author']) await db.schema.dropTable(table)
    },
  },
]

/** Migrates the publisher's own tables. */
export async function migrateDatabase(db: Knex): Promise<void> {
  const migrationSource: Knex.MigrationSource<(typeof migrations)[number]> = {
    getMigrations: async () => [...migrations],
    getMigrationName: ({ name }) => name,
    getMigration: async (migration) => migration,
  }
  await db.migrate.latest({ migrationSource })
}
