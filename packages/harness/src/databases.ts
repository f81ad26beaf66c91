import { createHash } from 'node:crypto'
import { engineMigrations, pgDriver, postgres, queueSchemaVersion } from '@outlay/adapters-pg'
import { createService, serviceMigrations } from '@outlay/service'
import { createTemplate, type Postgres, startPostgres } from '@outlay/testing'
import pg from 'pg'

/** Databases of one harness, on its own server or on a given one. */
export interface Databases {
  /** A new database with the tables of the service; its connection string. */
  service(): Promise<string>
  /** A new database with the tables of the engine; its connection string. */
  host(): Promise<string>
  /** Drops them, and stops the server if it was started for them. */
  drop(): Promise<void>
}

/**
 * Opens a server for databases: the server at `url`, as its superuser, or one that is started here. The databases are copies of
 * templates, which stay on a given server: one per state of the migrations.
 */
export async function openDatabases(url?: string): Promise<Databases> {
  const server: Postgres = await startPostgres(url === undefined ? { durable: false } : { url })
  const made: string[] = []
  const clone = async (name: string, prepare: (url: string) => Promise<void>) => {
    const template = await createTemplate(server, `outlay_${name}_${fingerprint()}`, prepare)
    const copy = await template.clone()
    made.push(copy)
    return copy
  }
  return {
    service: () => clone('service', (fresh) => withPool(fresh, migrateService)),
    host: () => clone('host', (fresh) => withPool(fresh, (pool) => postgres({ driver: pgDriver(pool) }).migrate())),
    async drop() {
      if (server.provider === 'url') for (const one of made) await server.dropDatabase(one)
      await server.stop()
    },
  }
}

function migrateService(pool: pg.Pool): Promise<void> {
  return createService({ pool, rails: 'simulated', encryptionKey: new Uint8Array(32) }).migrate()
}

async function withPool(url: string, work: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  try {
    await work(pool)
  } finally {
    await pool.end()
  }
}

/** Changes with the SQL of the packages that have tables, and with the queue's. */
function fingerprint(): string {
  const hash = createHash('sha256').update(`${queueSchemaVersion}`)
  for (const { name, sql } of [...engineMigrations, ...serviceMigrations]) hash.update(name).update(sql)
  return hash.digest('hex').slice(0, 12)
}
