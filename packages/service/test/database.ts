import { type TestDatabase, testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll } from 'vitest'
import { migrateService } from '../src/database/migrations.ts'
import { testSchema } from './service.ts'

/** A database with the schema of the service, of an ordinary role. */
export interface ServiceDatabase extends TestDatabase {
  /** A pool of eight connections. */
  readonly pool: Pool
  /** Opens another pool. All are closed when the file ends. */
  open(max: number): Pool
}

/** Gives the test file a {@link ServiceDatabase}. */
export async function serviceDatabase(): Promise<ServiceDatabase> {
  const database = await testDatabase({
    role: 'ordinary',
    key: 'service-http',
    prepare: async (url) => {
      const pool = new Pool({ connectionString: url })
      await migrateService({ pool, schema: testSchema })
      await pool.end()
    },
  })
  const open = (max: number) => {
    const pool = new Pool({ connectionString: database.url, max })
    afterAll(() => pool.end())
    return pool
  }
  return { ...database, open, pool: open(8) }
}
