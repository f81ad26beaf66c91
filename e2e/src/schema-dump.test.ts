import { dumpSchema, pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { startSandbox } from '@outlay/service/sandbox'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { serviceSchema } from './rows.ts'

/** The dumps stand beside the SQL that makes them; `vitest run -u` updates them. */
const dumpOf = (name: string) => new URL(`../../packages/${name}/schema.txt`, import.meta.url).pathname

describe('the dump of a schema shows what a migration changes', async () => {
  const database = await testDatabase()

  it('of the engine', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 })
    await createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() }).migrate()
    await pool.end()
    await expect(await read(database.url, 'outlay')).toMatchFileSnapshot(dumpOf('adapters-pg'))
  })

  it('of the service', async () => {
    const url = await database.another()
    await using _ = await startSandbox({ databaseUrl: url })
    await expect(await read(url, serviceSchema)).toMatchFileSnapshot(dumpOf('service'))
  })

  async function read(url: string, schema: string): Promise<string> {
    const client = new pg.Client(url)
    await client.connect()
    try {
      return await dumpSchema((text, values) => client.query(text, [...values]), schema)
    } finally {
      await client.end()
    }
  }
})
